package loopfile

import (
	"errors"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// A call is a state that runs another loop.
type call struct {
	state  *fsm.State
	b      *block
	path   string
	beside *fsm.Branches // that it is one of; nil = of none
}

// fragmentOf reads what a state has from the fragment it was built from.
func (d *decoder) fragmentOf(b *block) *fsm.Fragment {
	if !b.has("fragment_name") && !b.has("fragment_bindings") && !b.has("fragment_parameters") {
		return nil
	}
	f := &fsm.Fragment{Name: b.text("fragment_name"), Bindings: b.mapping("fragment_bindings")}
	if declared, ok := b.fields["fragment_parameters"]; ok {
		// The states that use a fragment share its declarations.
		if _, known := d.declared[declared.node]; !known {
			d.declared[declared.node] = d.parameters(b, "fragment_parameters", join("fragments", f.Name)+".parameters")
		}
		f.Parameters = d.declared[declared.node]
	}
	d.bindFragment(b, f)
	return f
}

// bindFragment checks what a state gives to the parameters of its fragment.
func (d *decoder) bindFragment(b *block, f *fsm.Fragment) {
	if len(f.Parameters) == 0 {
		return
	}
	given := &yaml.Node{Kind: yaml.MappingNode}
	if g, ok := b.fields["fragment_bindings"]; ok {
		given = g.node
	}
	d.contract(contract{
		what: "the fragment " + quote(f.Name), params: f.Parameters, given: given, values: f.Bindings,
		path: join(b.path, "with"), pos: b.pos("fragment_name"), optional: boundByRun,
	})
}

// A contract is what gives values, and what takes them.
type contract struct {
	what     string // "the fragment "gate""
	params   []fsm.Parameter
	given    *yaml.Node // a mapping
	values   *value.Map // the same, decoded; nil = nothing
	path     string     // of given
	pos      fsm.Pos    // of the name of what takes it
	optional map[string]bool
}

// contract reports values that are not taken, values of the wrong type, and values that are missing.
func (d *decoder) contract(c contract) {
	declared := make(map[string]*fsm.Parameter, len(c.params))
	var names []string
	for i := range c.params {
		declared[c.params[i].Name] = &c.params[i]
		names = append(names, c.params[i].Name)
	}
	for _, e := range d.entries(c.given, c.path) {
		p := declared[e.name]
		if p == nil {
			d.errorf(d.pos(e.key), join(c.path, e.name), "unknown-binding",
				"%s has no parameter %s%s (parameters: %s, declared at %v)", c.what, quote(e.name),
				didYouMean(e.name, names), enumerate(names), c.params[0].Pos)
			continue
		}
		v, _ := c.values.Get(e.name)
		if s, ok := v.(string); ok && strings.Contains(s, "${") {
			continue
		}
		if err := p.Check(v); err != nil {
			d.errorf(d.pos(e.val), join(c.path, e.name), "parameter-type",
				"the parameter %s of %s: %v (declared at %v)", quote(e.name), c.what, err, p.Pos)
		}
	}
	for _, p := range c.params {
		if _, ok := c.values.Get(p.Name); !ok && p.Required && !c.optional[p.Name] {
			d.errorf(c.pos, join(c.path, p.Name), "missing-parameter",
				"%s needs the parameter %s (%s, declared at %v); give it in with", c.what, quote(p.Name), p.Type, p.Pos)
		}
	}
}

// composition checks the keys of a state that runs a loop, and remembers it.
func (d *decoder) composition(s *stateDecl) {
	b := s.b
	if s.Loop != "" {
		d.calls = append(d.calls, call{state: s.State, b: b, path: s.path, beside: d.joins})
		if b.given("action") {
			d.errorf(b.keyPos("action"), join(s.path, "action"), "conflict",
				"a state runs either a loop or an action; this one has both")
		}
		if b.given("on_interrupted") && s.Each == nil {
			d.warnf(b.keyPos("on_interrupted"), join(s.path, "on_interrupted"), "ignored",
				"on_interrupted has no effect where a loop runs: a run that was interrupted in it continues inside "+
					"it; give the key to a state of that loop")
		}
		if b.given("idempotent") && s.Once && s.Each == nil {
			d.warnf(b.keyPos("idempotent"), join(s.path, "idempotent"), "ignored",
				"idempotent has no effect where a loop runs: a run that was interrupted in it continues inside it; "+
					"give the key to the states of that loop whose actions must not be repeated")
		}
		if s.With.Len() > 0 && s.Passthrough {
			d.errorf(b.keyPos("context_passthrough"), join(s.path, "context_passthrough"), "conflict",
				"context_passthrough hands over the whole context, with only what it says; use one of the two")
		}
		return
	}
	if s.open {
		return
	}
	if s.With.Len() > 0 {
		d.errorf(b.keyPos("with"), join(s.path, "with"), "missing-key",
			"with gives values to a loop or a fragment; this state has neither")
	}
	if s.Worktree != "" {
		d.errorf(b.keyPos("worktree"), join(s.path, "worktree"), "missing-key",
			"worktree says where a loop or branches run; this state has neither")
	}
	if s.Passthrough {
		d.warnf(b.keyPos("context_passthrough"), join(s.path, "context_passthrough"), "ignored",
			"context_passthrough has no effect without a loop to hand the context to")
	}
}

// children looks for the loops that states run, and checks what they are given. It looks at each as far as its own
// files go and not at the loops that it runs in turn, so it ends where loops run each other in circles.
func (d *decoder) children() {
	if d.loader == nil {
		return
	}
	units := make([]*unit, len(d.calls))
	for i, c := range d.calls {
		// A name with a template is looked up by the run.
		if strings.Contains(c.state.Loop, "${") {
			continue
		}
		at := c.b.fields["loop"].node
		file, err := d.find(c.state.Loop, "", d.source(at).name, d.main.name)
		if _, missing := errors.AsType[*NotFoundError](err); missing {
			d.errorf(d.pos(at), join(c.path, "loop"), "unknown-loop", "%v", err)
		} else if err != nil {
			d.errorf(d.pos(at), join(c.path, "loop"), "unreadable", "%s cannot be looked for: %v",
				quote(c.state.Loop), err)
		}
		if err != nil {
			continue
		}
		units[i] = d.loader.unit(file)
	}
	buildAll(units)
	for i, c := range d.calls {
		u, pos := units[i], c.b.pos("loop")
		switch {
		case u == nil:
		case u.err != nil:
			d.warnf(pos, join(c.path, "loop"), "broken-loop", "the loop %s cannot be read: %s", quote(c.state.Loop),
				cause(u.path, u.err))
		case u.broken:
			d.warnf(pos, join(c.path, "loop"), "broken-loop",
				"the loop %s has errors of its own, so this state will fail; see them with: loops validate %s",
				quote(c.state.Loop), printable(d.loader.short(u.path)))
		default:
			d.bindChild(c, u.made)
		}
	}
	d.sharedScopes(units)
}

// sharedScopes reports branches that run side by side in one folder and write the same paths, as the scopes of
// their loops say.
func (d *decoder) sharedScopes(units []*unit) {
	for i, c := range d.calls {
		if c.beside == nil || c.beside.HasTrees() || units[i] == nil || units[i].made == nil {
			continue
		}
		for j, other := range d.calls[:i] {
			if other.beside != c.beside || units[j] == nil || units[j].made == nil {
				continue
			}
			if a, b, both := overlap(units[i].made.Scope, units[j].made.Scope); both {
				d.errorf(c.b.pos("loop"), join(c.path, "loop"), "conflict",
					"the branches %s and %s run side by side and write the same files: the scope of %s has %s, that "+
						"of %s has %s; give the state worktree: true, or do one after the other",
					quote(other.state.Name), quote(c.state.Name), quote(c.state.Loop), quote(a),
					quote(other.state.Loop), quote(b))
				break
			}
		}
	}
}

// overlap returns two paths, one of each scope, of which one is the other or lies in it. Paths with templates are not
// compared.
func overlap(a, b []string) (x, y string, both bool) {
	for _, x := range a {
		for _, y := range b {
			p, q := path.Clean(x), path.Clean(y)
			if !strings.Contains(x+y, "${") &&
				(p == q || p == "." || q == "." || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")) {
				return x, y, true
			}
		}
	}
	return "", "", false
}

// buildAll takes the first step with each unit that is not nil, as many at once as there are processors.
func buildAll(units []*unit) {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	seen := map[*unit]bool{nil: true}
	for _, u := range units {
		if seen[u] {
			continue
		}
		seen[u] = true
		slots <- struct{}{}
		wg.Go(func() {
			u.build()
			<-slots
		})
	}
	wg.Wait()
}

func (d *decoder) bindChild(c call, child *fsm.Loop) {
	if c.state.Passthrough {
		return
	}
	if len(child.Parameters) == 0 {
		d.strayBindings(c, child)
		return
	}
	given := &yaml.Node{Kind: yaml.MappingNode}
	if f, ok := c.b.fields["with"]; ok {
		if f.val == nil {
			return // reported
		}
		given = f.node
	}
	d.contract(contract{
		what: "the loop " + quote(c.state.Loop), params: child.Parameters, given: given, values: c.state.With,
		path: join(c.path, "with"), pos: c.b.pos("loop"),
	})
}

// strayBindings warns of names that a loop without parameters is given and that look like a slip for a key of its
// context. Any other name passes: what the child runs in turn may know it.
func (d *decoder) strayBindings(c call, child *fsm.Loop) {
	f, ok := c.b.fields["with"]
	if !ok || f.val == nil {
		return
	}
	var known []string
	for _, name := range slices.Concat(child.Context.Keys(), child.RequiredInputs) {
		if _, given := c.state.With.Get(name); !given {
			known = append(known, name)
		}
	}
	for _, e := range d.entries(f.node, join(c.path, "with")) {
		if e.name == "input" || e.name == child.InputKey || slices.Contains(child.RequiredInputs, e.name) {
			continue
		}
		if _, ok := child.Context.Get(e.name); ok {
			continue
		}
		if meant := near(e.name, known); meant != "" {
			d.warnf(d.pos(e.key), join(join(c.path, "with"), e.name), "unknown-binding",
				"the context of the loop %s has no key %s; did you mean %s?", quote(c.state.Loop), quote(e.name),
				quote(meant))
		}
	}
}
