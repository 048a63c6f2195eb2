package loopfile

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// hosts reads host: the name of an agent, or a list of those that take over from one another. The first of the list is
// returned by itself too. list is nil where there is none.
func (d *decoder) hosts(b *block) (first string, list []fsm.AgentChoice) {
	f, ok := b.fields["host"]
	if !ok || isNull(deref(f.node)) {
		return "", nil
	}
	n, path := deref(f.node), join(b.path, "host")
	if n.Kind != yaml.SequenceNode {
		first, _ = d.text(n, path, "host")
		return first, nil
	}
	seen := map[fsm.AgentChoice]bool{}
	for i, item := range n.Content {
		item, at := deref(item), path+"["+strconv.Itoa(i)+"]"
		var c fsm.AgentChoice
		ok := false
		if item.Kind == yaml.MappingNode {
			c, ok = d.choice(item, at)
		} else {
			c.Host, ok = d.text(item, at, "an agent of host")
		}
		switch {
		case !ok:
		case c.Host == "":
			d.errorf(d.pos(item), at, "bad-value", "an agent of host has no name")
		case seen[c]:
			d.errorf(d.pos(item), at, "bad-value",
				"host names %s twice; remove one of them, or give it another model", quote(c.Name()))
		default:
			seen[c] = true
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		if len(n.Content) == 0 {
			d.errorf(d.pos(n), path, "range", "host is an empty list; expected agents, such as [claude, codex]")
		}
		return "", nil
	}
	return list[0].Host, list
}

// choice reads {host: claude, model: haiku}.
func (d *decoder) choice(n *yaml.Node, path string) (c fsm.AgentChoice, ok bool) {
	ok = true
	for _, e := range d.entries(n, path) {
		text, isText := "", false
		switch e.name {
		case "host", "model":
			text, isText = d.text(deref(e.val), join(path, e.name), e.name)
		default:
			d.errorf(d.pos(e.key), join(path, e.name), "unknown-key",
				"an agent of host has the keys host and model, and not %s", quote(e.name))
		}
		switch ok = ok && isText; e.name {
		case "host":
			c.Host = text
		case "model":
			c.Model = text
		}
	}
	return c, ok
}

// failover reads when another agent of the list takes over; nil = that is not given.
func (d *decoder) failover(of *block) *fsm.Failover {
	if !of.has("failover") {
		return nil
	}
	b := of.sub("failover")
	f := &fsm.Failover{
		Return: b.bool("return"), Reset: b.text("files") == "reset", Suspended: true,
		RateLimited: fsm.DefaultRateLimited,
	}
	on, ok := b.fields["on"]
	if !ok {
		return f
	}
	f.Suspended, f.RateLimited = false, -1
	words := b.texts("on")
	for i, text := range words {
		word, than, _ := strings.Cut(text, ">")
		limit, isTime := timeIn(strings.TrimSpace(than))
		switch word = strings.TrimSpace(word); {
		case text == "suspended":
			f.Suspended = true
		case word == "rate_limited" && (than == "" || isTime):
			f.RateLimited = limit
		case i < len(on.node.Content):
			d.errorf(d.pos(deref(on.node.Content[i])), join(b.path, "on")+"["+strconv.Itoa(i)+"]", "bad-value",
				"%s is not what another agent takes over for; expected suspended, rate_limited, or "+
					"rate_limited > 10m", quote(text))
		}
	}
	if len(words) == 0 && on.val != nil {
		d.errorf(d.pos(on.node), join(b.path, "on"), "range",
			"on is empty; expected when another agent takes over, such as [suspended]")
	}
	return f
}

// hostModel is host as a file may have it; nil = none is named.
func hostModel(first string, list []fsm.AgentChoice) any {
	if list == nil {
		if first == "" {
			return nil
		}
		return first
	}
	out := make([]any, len(list))
	for i, c := range list {
		if out[i] = c.Host; c.Model != "" {
			out[i] = value.NewMap("host", c.Host, "model", c.Model)
		}
	}
	return out
}

func failoverModel(f *fsm.Failover) *value.Map {
	if f == nil {
		return nil
	}
	on := []any{}
	if f.Suspended {
		on = append(on, "suspended")
	}
	if f.RateLimited >= 0 {
		on = append(on, "rate_limited > "+f.RateLimited.String())
	}
	return value.NewMap("on", on, "return", f.Return, "files", map[bool]string{true: "reset", false: "keep"}[f.Reset])
}

// hostSchema describes host.
func hostSchema() jsonObject {
	return object("anyOf", []any{
		reference("text"),
		object("type", "array", "minItems", 1, "items", object("anyOf", []any{
			reference("given_text"),
			object("type", "object", "required", []any{"host"}, "additionalProperties", false,
				"properties", object("host", reference("given_text"), "model", reference("given_text"))),
		})),
	})
}
