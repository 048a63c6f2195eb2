package loopfile

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// placeIn returns what [fsm.Loop.Place] wants of a document.
func (d *decoder) placeIn(root *yaml.Node) func(offset int, path ...string) fsm.Pos {
	return func(offset int, path ...string) fsm.Pos {
		at, key := root, root
		for _, name := range path {
			k, v := child(at, name)
			if v == nil {
				return d.pos(key)
			}
			key, at = k, v
		}
		if offset < 0 {
			return d.pos(key)
		}
		if at.Kind == yaml.ScalarNode && offset <= len(at.Value) {
			return d.within(at, offset)
		}
		return d.pos(at)
	}
}

// child finds an entry of a mapping or a list; the key of an item is the item.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := deref(n.Content[i]), deref(n.Content[i+1])
			if k.Value == name {
				return k, v
			}
			if k.ShortTag() == "!!merge" {
				if k, v := child(v, name); v != nil {
					return k, v
				}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Content) {
			v := deref(n.Content[i])
			return v, v
		}
	}
	return nil, nil
}

// within returns the place of a byte of a scalar's value in the file; where that cannot be told, the place of
// the scalar.
func (d *decoder) within(n *yaml.Node, offset int) fsm.Pos {
	pos := d.pos(n)
	before := n.Value[:offset]
	row := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	lineEnd := len(n.Value)
	if i := strings.IndexByte(n.Value[offset:], '\n'); i >= 0 {
		lineEnd = offset + i
	}
	content := n.Value[start:lineEnd]
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		raw := d.line(n.Line + 1 + row)
		if len(raw) > maxLine || !bytes.HasSuffix(raw, []byte(content)) {
			return pos
		}
		pos.Line = n.Line + 1 + row
		pos.Col = utf8.RuneCount(raw) - utf8.RuneCountInString(content) + utf8.RuneCountInString(n.Value[start:offset]) + 1
	case row == 0 && lineEnd == len(n.Value) && len(d.line(n.Line)) <= maxLine:
		// One line: it stands there as it is unless it was quoted with escapes.
		raw := d.line(n.Line)
		for i := 1; i < n.Column && len(raw) > 0; i++ {
			_, size := utf8.DecodeRune(raw)
			raw = raw[size:]
		}
		if i := bytes.Index(raw, []byte(n.Value)); i >= 0 && i <= 1 {
			pos.Col += utf8.RuneCount(raw[:i]) + utf8.RuneCountInString(n.Value[:offset])
		}
	}
	return pos
}
