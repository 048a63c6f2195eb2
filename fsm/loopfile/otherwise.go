package loopfile

import (
	"slices"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// acting are the keys by which a state acts, waits, asks or judges; a state that has none of them cannot fail.
var acting = []string{"action", "loop", "call", "wait", "ask", "for_each", "parallel", "evaluate"}

// failing are the keys that say where a failure leads: a state that has one of them is left as it is.
var failing = []string{"route", "on_no", "on_failure", "on_error", "on_timeout", "on_partial"}

// otherwise gives the states that say nothing about failures the keys that lead to the state the loop names for that.
// A state beside next gets on_error only, as a failed action leaves next that way.
func (d *decoder) otherwise(root *yaml.Node) *yaml.Node {
	_, to := find(root, "otherwise")
	key, states := find(root, "states")
	if to == nil || key == nil || to.Kind != yaml.ScalarNode || isNull(to) || states.Kind != yaml.MappingNode {
		return root
	}
	all := d.entries(states, "states")
	if to.Value == fsm.Current || !slices.ContainsFunc(all, func(e entry) bool { return e.name == to.Value }) {
		return root // which is a mistake of its own
	}
	d.aside = to.Value
	out := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, states)
	for _, e := range all {
		out.Content = append(out.Content, e.key, d.guarded(e, to))
	}
	return d.set(root, key, out)
}

// whyNotOtherwise ends the refusal of a state that does not say where a failure leads: why the otherwise of its
// loop does not say so, "" where it has none.
func (d *decoder) whyNotOtherwise() string {
	if d.aside == "" {
		return ""
	}
	return ": otherwise is for states without on_no, on_error, on_timeout and on_partial"
}

// guarded returns the body of a state with the keys that lead to the state to.
func (d *decoder) guarded(state entry, to *yaml.Node) *yaml.Node {
	body := deref(state.val)
	if body.Kind != yaml.MappingNode || state.name == to.Value {
		return body
	}
	given := map[string]*yaml.Node{}
	leads := false
	for _, e := range d.entries(body, join("states", state.name)) {
		if v := deref(e.val); !isNull(v) && v.Value+v.Tag != "!!str" {
			given[e.name] = v
			leads = leads || isVerdictKey(e.name)
		}
	}
	has := func(key string) bool { return given[key] != nil }
	if end := given["terminal"]; end != nil && end.Value != "false" || !slices.ContainsFunc(acting, has) ||
		slices.ContainsFunc(failing, has) {
		return body
	}
	keys := []string{"on_no", "on_error", "on_timeout", "on_partial"}
	switch {
	case has("next"):
		keys = []string{"on_error"}
	case !leads && !has("loop"):
		return body // where it leads when all is well is missing, which is said
	case (has("wait") || has("ask")) && !has("timeout"):
		keys = []string{"on_no", "on_error", "on_partial"} // its time is never up
	}
	for _, key := range keys {
		body = d.set(body, d.scalar(key, to), d.scalar(to.Value, to))
	}
	return body
}
