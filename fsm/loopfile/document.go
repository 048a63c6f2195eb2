package loopfile

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm/value"
)

// Document returns the definition of the loop at path as one value: what its file says after everything that it
// inherits, its flow and its fragments are written out, with all keys, also those that have no effect or the
// value that they have anyway. Keys have their proper name where the file uses an older one, and times are in
// seconds. Written as JSON it is a loop file itself, and means the same loop.
//
// It is nil where it cannot be determined what the loop is made of, which [Loader.Load] reports. The errors are those
// of [Loader.Effective].
func (l *Loader) Document(path string) (*value.Map, error) {
	u := l.unit(path)
	if u.build(); u.err != nil {
		return nil, u.err
	}
	return u.dec.asValue()
}

// Document is [Loader.Document] for a text that needs no other file; the name stands in for the file in errors.
func Document(name string, data []byte) (*value.Map, error) {
	d := newDecoder(newSource(name, nil, data), nil)
	d.build()
	return d.asValue()
}

func (d *decoder) asValue() (*value.Map, error) {
	if d.merged == nil || d.partial {
		return nil, nil
	}
	w := &documenter{d: newDecoder(d.main, nil)} // what is wrong with the document has been said
	w.d.origins = d.origins
	m := w.block(d.merged, InLoop)
	if w.size > maxShown {
		return nil, fmt.Errorf("%s comes to more than %d MiB with its aliases written out", d.main.name, maxShown>>20)
	}
	return m, nil
}

// A documenter turns a merged document into a value. The key table determines which scalars are texts however they are
// written.
type documenter struct {
	d    *decoder
	size int // of the scalars and keys so far, in bytes
}

// block returns a mapping with keys of the table.
func (w *documenter) block(n *yaml.Node, in Where) *value.Map {
	m := value.NewMap()
	entries := w.d.entries(n, "")
	for _, e := range entries {
		key, name := byWhere()[in][e.name], e.name
		switch {
		case in == InState && name == "fragment_name":
			continue // what it brought is here already, and nothing depends on its name
		case key != nil && key.Alias != "" &&
			!slices.ContainsFunc(entries, func(e entry) bool { return e.name == key.Alias }):
			name = key.Alias
		}
		if w.count(len(name)); w.full() {
			break
		}
		m.Set(name, w.field(in, e, key))
	}
	return m
}

// field returns the value of a key of a block. A key that is not in the table is nil.
func (w *documenter) field(in Where, e entry, key *Key) any {
	n := deref(e.val)
	switch {
	case key == nil && in == InState && strings.HasPrefix(e.name, "on_"):
		return w.text(n)
	case key == nil:
		return w.plain(n)
	}
	switch key.Type {
	case TypeText, TypeTarget, TypeExpression:
		return w.text(n)
	case TypeTexts:
		return w.each(n, w.text)
	case TypeSeconds:
		if v, ok := inUnits(n); ok { // 5m has a proper form too: 300
			if whole := int64(v); float64(whole) == v {
				return whole
			}
			return v
		}
	case TypeBlock:
		if key.Short != "" && n.Kind == yaml.ScalarNode {
			return w.text(n)
		}
		return w.in(key.Block)(n)
	case TypeSpecial:
		switch e.name {
		case "states":
			return w.each(n, w.in(InState))
		case "parameters", "fragment_parameters":
			return w.each(n, w.in(InParameter))
		case "host":
			if n.Kind == yaml.ScalarNode {
				return w.text(n)
			}
		case "set":
			return w.each(n, w.text)
		case "worktree":
			if !isBool(n) {
				return w.text(n)
			}
		case "route":
			if n.Kind == yaml.SequenceNode {
				return w.each(n, w.in(InCase))
			}
			return w.each(n, w.text)
		}
	}
	return w.plain(n)
}

// in returns what makes a value of a mapping with keys of the table, or of something else that is in its place.
func (w *documenter) in(where Where) func(*yaml.Node) any {
	return func(n *yaml.Node) any {
		if n.Kind != yaml.MappingNode {
			return w.plain(n)
		}
		return w.block(n, where)
	}
}

// each makes something of every value of a mapping or a list.
func (w *documenter) each(n *yaml.Node, of func(*yaml.Node) any) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := value.NewMap()
		for _, e := range w.d.entries(n, "") {
			if w.count(len(e.name)); w.full() {
				break
			}
			m.Set(e.name, of(deref(e.val)))
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			if w.full() {
				break
			}
			list = append(list, of(deref(c)))
		}
		return list
	}
	return w.plain(n)
}

// text returns a scalar as it is written.
func (w *documenter) text(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return w.plain(n)
	}
	w.count(len(n.Value))
	return n.Value
}

// plain returns anything that the table does not know more of.
func (w *documenter) plain(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return w.each(n, w.plain)
	}
	w.count(len(n.Value))
	return w.d.value(n, "")
}

func (w *documenter) count(text int) { w.size += text + 1 }

func (w *documenter) full() bool { return w.size > maxShown }
