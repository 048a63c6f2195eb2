package lint

import (
	"slices"
	"strconv"
	"strings"

	"loops/fsm"
	"loops/fsm/expression"
	"loops/internal/humanize"
)

// A formula is an expression of a state, with its position.
type formula struct {
	*expression.Program
	path []string
}

// formulas returns the expressions of a state.
func formulas(s *fsm.State) []formula {
	var all []formula
	add := func(p *expression.Program, path ...string) {
		if p != nil {
			all = append(all, formula{p, append([]string{"states", s.Name}, path...)})
		}
	}
	for _, a := range s.Set {
		add(a.Value, "set", a.Key)
	}
	if s.Route != nil {
		for i, row := range s.Route.Cases {
			add(row.When, "route", strconv.Itoa(i), "when")
		}
	}
	if s.Evaluate != nil {
		add(s.Evaluate.Expression, "evaluate", "expression")
	}
	return all
}

// expressionRules warn of names in expressions that nothing gives a value. Where a ?? says what holds then, that may be meant.
func (c *checker) expressionRules() {
	known, names := c.contextNames()
	var captures []string
	for _, s := range c.states {
		if s.Capture != "" {
			captures = append(captures, s.Capture)
		}
		if s.Loop != "" && s.Each == nil {
			captures = append(captures, s.Name)
		}
	}
	for _, s := range c.states {
		for _, f := range formulas(s) {
			if strings.Contains(f.String(), "?") {
				continue
			}
			for _, r := range f.Refs() {
				if len(r.Path) == 0 {
					continue
				}
				name, at := r.Path[0], spot{0, f.path}
				switch fixed := properties[r.Namespace]; {
				case r.Namespace == "context" && !known[name]:
					c.gather("unknown-context", name, s.Name, at, "nothing in the loop %s gives context.%s a value%s; add it to context, or write context.%s ?? 0", humanize.Quote(c.l.Name), humanize.Clip(name), c.didYouMean(name, names), humanize.Clip(name))
				case r.Namespace == "captured" && !slices.Contains(captures, name):
					c.gather("unknown-capture", name, s.Name, at, "no state of the loop captures %s%s", humanize.Quote(name), c.didYouMean(name, captures))
				case fixed != nil && r.Namespace != "messages" && !slices.Contains(fixed, name):
					c.gather("unknown-property", name, s.Name, at, "%s has no %s%s (it has %s)", r.Namespace, humanize.Quote(name), c.didYouMean(name, fixed), humanize.List(fixed))
				}
			}
		}
	}
}
