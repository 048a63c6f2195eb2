package loopfile

import (
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A call is a state that runs another loop.
type call struct {
	state *fsm.State
	b     *block
	path  string
}

// fragmentOf reads what is left in a state of the fragment it was built from.
func (d *decoder) fragmentOf(b *block) *fsm.Fragment {
	if !b.has("fragment_name") && !b.has("fragment_bindings") && !b.has("fragment_parameters") {
		return nil
	}
	name := b.text("fragment_name")
	f := &fsm.Fragment{
		Name: name, Bindings: b.mapping("fragment_bindings"),
		Parameters: d.parameters(b, "fragment_parameters", join("fragments", name)+".parameters"),
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

// A contract is what somebody gives, and what takes it.
type contract struct {
	what     string // "the fragment "gate""
	params   []fsm.Parameter
	given    *yaml.Node // a mapping
	values   *fsm.Map   // the same, decoded; nil = nothing
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
			d.errorf(d.pos(e.key), join(c.path, e.name), "unknown-binding", "%s has no parameter %s%s (parameters: %s)", c.what, quote(e.name), didYouMean(e.name, names), enumerate(names))
			continue
		}
		v, _ := c.values.Get(e.name)
		if s, ok := v.(string); ok && strings.Contains(s, "${") {
			continue
		}
		if err := p.Check(v); err != nil {
			d.errorf(d.pos(e.val), join(c.path, e.name), "parameter-type", "the parameter %s of %s: %v (declared at %v)", quote(e.name), c.what, err, p.Pos)
		}
	}
	for _, p := range c.params {
		if _, ok := c.values.Get(p.Name); !ok && p.Required && !c.optional[p.Name] {
			d.errorf(c.pos, join(c.path, p.Name), "missing-parameter", "%s needs the parameter %s (%s, declared at %v); give it in with", c.what, quote(p.Name), p.Type, p.Pos)
		}
	}
}

// composition checks the keys of a state that runs a loop, and remembers it.
func (d *decoder) composition(s *stateDecl) {
	b := s.b
	if s.Loop != "" {
		d.calls = append(d.calls, call{state: s.State, b: b, path: s.path})
		if b.given("action") {
			d.errorf(b.keyPos("action"), join(s.path, "action"), "conflict", "a state runs either a loop or an action; this one has both")
		}
		if s.With.Len() > 0 && s.Passthrough {
			d.errorf(b.keyPos("context_passthrough"), join(s.path, "context_passthrough"), "conflict", "context_passthrough hands over the whole context, with only what it says; use one of the two")
		}
		return
	}
	if s.open {
		return
	}
	if b.has("with") && (s.With.Len() > 0 || b.fields["with"].val == nil) {
		d.errorf(b.keyPos("with"), join(s.path, "with"), "missing-key", "with gives values to a loop or a fragment; this state has neither%s", elsewhereOf(b))
	}
	for _, key := range []string{"worktree", "context_passthrough"} {
		if key == "worktree" && s.Worktree != "" {
			d.errorf(b.keyPos(key), join(s.path, key), "missing-key", "%s says how a loop is run; this state has no loop", key)
		}
	}
}

// elsewhereOf says what may have been meant by a with that nothing takes.
func elsewhereOf(b *block) string {
	if b.has("fragment_name") {
		return ""
	}
	return "; add loop or fragment"
}

// bindChildren looks for the loops that states run, and checks what they are given.
func (d *decoder) bindChildren() {
	if d.loader == nil {
		return
	}
	for _, c := range d.calls {
		if u := d.child(c); u != nil {
			d.bindChild(c, u)
		}
	}
}

// child returns the loop that a state runs, as far as it can be told before the run.
func (d *decoder) child(c call) *unit {
	name := c.state.Loop
	if strings.Contains(name, "${") {
		return nil
	}
	at := c.b.fields["loop"].node
	file, err := d.loader.search(name, "", d.source(at).name, d.main.name)
	if err != nil {
		d.errorf(d.pos(at), join(c.path, "loop"), "unknown-loop", "%v", err)
		return nil
	}
	return d.loader.unit(file)
}

func (d *decoder) bindChild(c call, u *unit) {
	if u.build(); u.err != nil || u.dec.failed || u.made == nil || c.state.Passthrough || len(u.made.Parameters) == 0 {
		return
	}
	given, path := &yaml.Node{Kind: yaml.MappingNode}, join(c.path, "with")
	if f, ok := c.b.fields["with"]; ok {
		if f.val == nil {
			return
		}
		given = f.node
	}
	d.contract(contract{
		what: "the loop " + quote(c.state.Loop), params: u.made.Parameters, given: given, values: c.state.With,
		path: path, pos: c.b.pos("loop"),
	})
}

// checkChildren warns of loops that states run and that would not run by themselves.
func (d *decoder) checkChildren() {
	if d.loader == nil {
		return
	}
	for _, c := range d.calls {
		if strings.Contains(c.state.Loop, "${") {
			continue
		}
		at := c.b.fields["loop"].node
		file, err := d.loader.search(c.state.Loop, "", d.source(at).name, d.main.name)
		if err != nil {
			continue // reported
		}
		u := d.loader.unit(file)
		if u.bind(); u.err != nil {
			d.warnf(d.pos(at), join(c.path, "loop"), "broken-loop", "the loop %s cannot be read: %s", quote(c.state.Loop), cause(u.path, u.err))
		} else if u.dec.failed {
			d.warnf(d.pos(at), join(c.path, "loop"), "broken-loop", "the loop %s (%s) has errors of its own, so this state will fail; see them with: loops validate %s", quote(c.state.Loop), d.loader.short(file), clip(c.state.Loop))
		}
	}
}
