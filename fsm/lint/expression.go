package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/internal/humanize"
)

// A formula is an expression of a state, with its position.
type formula struct {
	*expr.Program
	path []string
}

// formulas returns the expressions of a state.
func formulas(s *fsm.State) []formula {
	var all []formula
	s.EachExpression(func(p *expr.Program, path ...string) {
		all = append(all, formula{p, append([]string{"states", s.Name}, path...)})
	})
	return all
}

// captures are the uses of captures in an expression, as templates have them. One that is guarded somewhere in
// it may be meant to be absent.
func (f formula) captures() text {
	t := text{path: f.path, use: after, formula: true}
	guards := f.guards()
	for _, r := range f.Refs() {
		if r.Namespace == "captured" && len(r.Path) > 0 && !guards[r.Namespace+"."+r.Path[0]] {
			t.refs = append(t.refs,
				expr.Reference{
					Text: r.Text(), Namespace: r.Namespace, Path: strings.Join(r.Path, "."),
					Offset: f.offset(r),
				})
		}
	}
	return t
}

// guards are the names in an expression for which it says what holds where there is no value.
func (f formula) guards() map[string]bool {
	all := map[string]bool{}
	for _, r := range f.Refs() {
		if r.Guarded && len(r.Path) > 0 {
			all[r.Namespace+"."+r.Path[0]] = true
		}
	}
	return all
}

// offset is where a name begins in the text of an expression, in bytes.
func (f formula) offset(r expr.Ref) int {
	n := 0
	for at := range f.String() {
		if n == r.Col {
			return at
		}
		n++
	}
	return 0
}

// expressionRules warn of names in expressions that nothing gives a value. Where a ?? says what holds then,
// that may be meant. The names of captures are for captureRules.
func (c *checker) expressionRules() {
	known, names := c.contextNames()
	for _, s := range c.states {
		for _, f := range formulas(s) {
			guards := f.guards()
			for _, r := range f.Refs() {
				if len(r.Path) == 0 || guards[r.Namespace+"."+r.Path[0]] {
					continue
				}
				name, at := r.Path[0], spot{f.offset(r), f.path}
				switch fixed := properties[r.Namespace]; {
				case r.Namespace == "context" && !known[name]:
					c.gather("unknown-context", name, s.Name, at,
						"nothing in the loop %s gives context.%s a value%s; add it to context, or write "+
							"(context.%s ?? 0)", humanize.Quote(c.l.Name), humanize.Clip(name),
						c.didYouMean(name, names), humanize.Clip(name))
				case fixed != nil && r.Namespace != "messages" && r.Namespace != "memory" &&
					!slices.Contains(fixed, name):
					c.gather("unknown-property", name, s.Name, at, "%s has no %s%s (it has %s)", r.Namespace,
						humanize.Quote(name), c.didYouMean(name, fixed), humanize.List(fixed))
				}
			}
		}
	}
}
