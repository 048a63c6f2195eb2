package loopfile

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// mostTimes is how often a property may let a state be entered.
const mostTimes = 1000

// propertyShape is what a property looks like, for messages.
const propertyShape = "{never: {enter: deploy, without: approve}}, {always_before_end: cleanup} or {at_most: " +
	"{enter: deploy, times: 1}}"

// properties reads what must hold of every run.
func (d *decoder) properties(b *block) []fsm.Property {
	f, ok := b.fields["properties"]
	if !ok || isNull(deref(f.node)) {
		return nil
	}
	n := deref(f.node)
	if n.Kind != yaml.SequenceNode {
		d.errorf(d.pos(n), "properties", "wrong-type", "properties is a list of %s, found %s", propertyShape,
			describe(n))
		return nil
	}
	var list []fsm.Property
	for i, item := range n.Content {
		item, path := deref(item), "properties["+strconv.Itoa(i)+"]"
		if item.Kind != yaml.MappingNode {
			d.errorf(d.pos(item), path, "wrong-type", "a property is %s, found %s", propertyShape, describe(item))
			continue
		}
		entries := d.entries(item, path)
		if len(entries) != 1 {
			d.errorf(d.pos(item), path, "bad-value", "a property has one key, and this one has %d; expected %s",
				len(entries), propertyShape)
			continue
		}
		if p, ok := d.property(entries[0], path); ok {
			list = append(list, p)
		}
	}
	return list
}

func (d *decoder) property(e entry, path string) (p fsm.Property, ok bool) {
	p.Kind, path = e.name, join(path, e.name)
	n := deref(e.val)
	switch p.Kind {
	case fsm.PropertyAlways:
		p.State, ok = d.stateNamed(n, path, p.Kind)
		return p, ok
	case fsm.PropertyNever, fsm.PropertyAtMost:
	default:
		words := []string{fsm.PropertyNever, fsm.PropertyAlways, fsm.PropertyAtMost}
		d.errorf(d.pos(e.key), path, "unknown-key", "%s is no property%s; expected %s", quote(p.Kind),
			didYouMean(p.Kind, words), propertyShape)
		return p, false
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(d.pos(n), path, "wrong-type", "%s is a mapping as in %s, found %s", p.Kind, propertyShape, describe(n))
		return p, false
	}
	ok = true
	take := func(good bool) { ok = ok && good }
	for _, in := range d.entries(n, path) {
		val, at := deref(in.val), join(path, in.name)
		var good bool
		switch {
		case in.name == "enter":
			p.State, good = d.stateNamed(val, at, in.name)
		case in.name == "without" && p.Kind == fsm.PropertyNever:
			p.Without, good = d.stateNamed(val, at, in.name)
		case in.name == "times" && p.Kind == fsm.PropertyAtMost:
			if p.Times, good = d.int(val, at, in.name); good && (p.Times < 1 || p.Times > mostTimes) {
				d.errorf(d.pos(val), at, "range", "times is %d; expected 1 to %d, or never: {enter: STATE}", p.Times,
					mostTimes)
				good = false
			}
		default:
			keys := map[string]string{fsm.PropertyNever: "enter and without", fsm.PropertyAtMost: "enter and times"}
			d.errorf(d.pos(in.key), at, "unknown-key", "%s has the keys %s, and not %s", p.Kind, keys[p.Kind],
				quote(in.name))
		}
		take(good)
	}
	if ok && (p.State == "" || p.Kind == fsm.PropertyAtMost && p.Times == 0) {
		d.errorf(d.pos(n), path, "missing-key", "%s lacks a key: expected %s", p.Kind, propertyShape)
		return p, false
	}
	if ok && p.State == p.Without {
		d.errorf(d.pos(n), path, "conflict", "%s is what must not be entered and what must be entered before; name "+
			"another state, or leave out without", quote(p.State))
		return p, false
	}
	return p, ok
}

// stateNamed reads the name of a state.
func (d *decoder) stateNamed(n *yaml.Node, path, key string) (string, bool) {
	name, ok := d.text(n, path, key)
	if ok {
		d.targets = append(d.targets, target{true, name, d.pos(n), path})
	}
	return name, ok && name != ""
}

// propertiesModel is properties as a file may have them.
func propertiesModel(list []fsm.Property) []any {
	out := make([]any, len(list))
	for i, p := range list {
		body := value.NewMap("enter", p.State)
		switch {
		case p.Kind == fsm.PropertyAlways:
			out[i] = value.NewMap(p.Kind, p.State)
			continue
		case p.Kind == fsm.PropertyAtMost:
			body.Set("times", int64(p.Times))
		case p.Without != "":
			body.Set("without", p.Without)
		}
		out[i] = value.NewMap(p.Kind, body)
	}
	return out
}

// propertiesSchema describes properties.
func propertiesSchema() jsonObject {
	shape := func(key string, body jsonObject) jsonObject {
		return object("type", "object", "required", []any{key}, "additionalProperties", false, "properties",
			object(key, body))
	}
	return object("type", []any{"array", "null"}, "items", object("anyOf", []any{
		shape(fsm.PropertyNever, object("type", "object", "required", []any{"enter"}, "additionalProperties", false,
			"properties", object("enter", reference("given_text"), "without", reference("given_text")))),
		shape(fsm.PropertyAlways, reference("given_text")),
		shape(fsm.PropertyAtMost,
			object("type", "object", "required", []any{"enter", "times"}, "additionalProperties", false,
				"properties", object("enter", reference("given_text"), "times",
					object("type", "integer", "minimum", 1, "maximum", mostTimes)))),
	}))
}
