package loopfile

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// A step is one entry of flow: NAME, or NAME?YES:NO.
type step struct {
	name, yes, no string
	at            *yaml.Node // of the entry
}

// flow replaces flow and state_defs by the states they stand for.
func (d *decoder) flow(root *yaml.Node) *yaml.Node {
	key, val := find(root, "flow")
	defsKey, defs := find(root, "state_defs")
	if key == nil {
		if defsKey == nil {
			return root
		}
		if !isNull(defs) {
			d.warnf(d.pos(defsKey), "state_defs", "ignored",
				"state_defs has no effect without flow, whose steps it describes")
		}
		return d.without(root, "state_defs")
	}
	rest := d.without(root, "flow", "state_defs")
	steps, ok := d.steps(key, val)
	if !ok {
		d.partial = true
		return rest
	}
	if old, replaced := find(root, "states"); old != nil && !isNull(replaced) {
		d.warnf(d.pos(old), "states", "ignored", "flow%s replaces states, so these have no effect; describe the "+
			"steps under state_defs", d.defined(key))
	}
	if defsKey == nil || isNull(defs) {
		defs = d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, val)
	} else if defs.Kind != yaml.MappingNode {
		d.errorf(d.pos(defs), "state_defs", "wrong-type",
			"state_defs must be a mapping of the steps of flow to their states, found %s", describe(defs))
		d.partial = true
		return rest
	}
	return d.set(rest, d.scalar("states", key), d.chain(val, steps, defs, aside(root)))
}

// aside returns the state that otherwise names: in a loop with flow, state_defs describes it although it is no step.
func aside(root *yaml.Node) string {
	if _, to := find(root, "otherwise"); to != nil && to.Kind == yaml.ScalarNode {
		return to.Value
	}
	return ""
}

// steps reads the list.
func (d *decoder) steps(key, val *yaml.Node) ([]step, bool) {
	const want = `expected a list of steps, such as [build, "test?ship:build", ship]`
	if isNull(val) {
		d.errorf(d.pos(key), "flow", "null", "flow has no value; %s", want)
		return nil, false
	}
	if val.Kind != yaml.SequenceNode {
		d.errorf(d.pos(val), "flow", "wrong-type", "%s, found %s",
			strings.Replace(want, "expected", "flow must be", 1), describe(val))
		return nil, false
	}
	if len(val.Content) == 0 {
		d.errorf(d.pos(val), "flow", "wrong-type", "flow is empty; %s", want)
		return nil, false
	}
	var steps []step
	ok := true
	seen := map[string]bool{}
	for _, c := range val.Content {
		n := deref(c)
		text, isText := d.text(n, "flow", "a step of flow")
		if !isText {
			ok = false
			continue
		}
		s := step{name: text, at: n}
		name, targets, ternary := strings.Cut(text, "?")
		if ternary {
			var colon bool
			s.name = name
			s.yes, s.no, colon = strings.Cut(targets, ":")
			if !colon || s.yes == "" || s.no == "" || strings.HasSuffix(s.no, ":") {
				d.errorf(d.pos(n), "flow", "bad-value", "%s is no step of flow; expected NAME, or NAME?YES:NO with "+
					"the steps to go to", quote(text))
				ok = false
				continue
			}
		}
		if seen[s.name] {
			d.warnf(d.pos(n), "flow", "ignored", "the step %s is in flow already; this one replaces it", quote(s.name))
		}
		seen[s.name] = true
		steps = append(steps, s)
	}
	return steps, ok
}

// chain makes the states: each leads to the next, or where its test says, and the last one ends the run. The bodies
// in state_defs lie over that; that of the state aside, which is no step, is taken as it is.
func (d *decoder) chain(list *yaml.Node, steps []step, defs *yaml.Node, aside string) *yaml.Node {
	states := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, list)
	bodies := map[string]entry{}
	var order []string
	for _, e := range d.entries(defs, "state_defs") {
		bodies[e.name] = e
		order = append(order, e.name)
	}
	at := map[string]int{}
	for i, s := range steps {
		body := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, s.at)
		put := func(key string, val *yaml.Node) {
			body.Content = append(body.Content, d.scalar(key, s.at), val)
		}
		last := i == len(steps)-1
		switch {
		case s.yes != "":
			put("on_yes", d.part(s.at, s.yes, len(s.name)+1))
			put("on_no", d.part(s.at, s.no, len(s.name)+len(s.yes)+2))
		case !last:
			put("next", d.part(steps[i+1].at, steps[i+1].name, 0))
		}
		if last {
			truth := d.scalar("true", s.at)
			truth.Tag = "!!bool"
			put("terminal", truth)
		}
		key := d.part(s.at, s.name, 0)
		if e, ok := bodies[s.name]; ok {
			key = e.key
			if !isNull(e.val) {
				body = d.merge(body, e.val, join("states", s.name))
			}
		}
		if j, ok := at[s.name]; ok {
			states.Content[j], states.Content[j+1] = key, body
			continue
		}
		at[s.name] = len(states.Content)
		states.Content = append(states.Content, key, body)
	}
	var words []string
	for _, s := range steps {
		words = append(words, s.name)
	}
	for _, name := range order {
		_, ok := at[name]
		switch {
		case ok:
		case name == aside:
			states.Content = append(states.Content, bodies[name].key, bodies[name].val)
		default:
			d.warnf(d.pos(bodies[name].key), join("state_defs", name), "ignored",
				"%s is not a step of flow and has no effect%s (steps: %s)", quote(name), didYouMean(name, words),
				enumerate(words))
		}
	}
	return states
}

// part makes a text of a part of another one.
func (d *decoder) part(of *yaml.Node, value string, offset int) *yaml.Node {
	n := d.scalar(value, of)
	if offset > 0 {
		if pos := d.within(of, offset); pos.Line == of.Line {
			n.Column = pos.Col
		}
	}
	return n
}
