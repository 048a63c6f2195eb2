package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// deref follows an alias. document has made sure that this ends.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// An entry is one key of a mapping with its value, aliases followed.
type entry struct {
	name string
	key  *yaml.Node
	val  *yaml.Node
}

// entries returns what a mapping holds, merge keys (<<) included: keys of the mapping itself win over merged
// ones, earlier merges over later ones. It reports keys that are no text and keys that stand twice.
func (d *decoder) entries(m *yaml.Node, path string) []entry {
	out := make([]entry, 0, len(m.Content)/2)
	at := newNames(len(m.Content) / 2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, val := deref(m.Content[i]), deref(m.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			d.errorf(d.pos(m.Content[i]), path, "bad-key", "a key must be a text, found %s", describe(key))
			continue
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, val)
			continue
		}
		if before := at.find(out, key.Value); before != nil {
			report, same := d.errorf, ""
			if first := out[slices.IndexFunc(out, func(e entry) bool { return e.key == before })]; alike(first.val,
				val) {
				report, same = d.warnf, ", with the same value"
			}
			report(d.pos(key), join(path, key.Value), "duplicate-key",
				"%s occurs twice%s; the first is at line %d, column %d", quote(key.Value), same, before.Line,
				before.Column)
			continue
		}
		at.add(key)
		out = append(out, entry{key.Value, key, val})
	}
	for _, merge := range merges {
		for _, s := range merged(merge) {
			if s.Kind != yaml.MappingNode {
				d.errorf(d.pos(s), path, "bad-key", "<< merges mappings; found %s", describe(s))
				continue
			}
			for _, e := range d.entries(s, path) {
				if at.find(out, e.name) == nil {
					at.add(e.key)
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// alike reports whether two nodes stand for the same value, however they are written: a mapping is the same
// with its keys in another order.
func alike(a, b *yaml.Node) bool {
	a, b = deref(a), deref(b)
	switch {
	case a == b:
		return true
	case a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || len(a.Content) != len(b.Content):
		return false
	case a.Kind == yaml.ScalarNode:
		return a.Value == b.Value || a.ShortTag() != "!!str" && scalar(a) == scalar(b)
	case a.Kind != yaml.MappingNode:
		return slices.EqualFunc(a.Content, b.Content, alike)
	}
	left := make(map[string]*yaml.Node, len(b.Content)/2)
	for i := 0; i+1 < len(b.Content); i += 2 {
		left[deref(b.Content[i]).Value] = b.Content[i+1]
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		key := deref(a.Content[i]).Value
		if v, ok := left[key]; !ok || !alike(a.Content[i+1], v) {
			return false
		}
		delete(left, key)
	}
	return true
}

// scalar is what a number, a truth value or null stands for, or the node itself where it cannot be read.
func scalar(n *yaml.Node) (v any) {
	if n.Decode(&v) != nil {
		return n
	}
	return v
}

// A nameIndex finds the key of a name among the entries so far; of a few it looks at each.
type nameIndex map[string]*yaml.Node

func newNames(n int) nameIndex {
	if n <= 12 {
		return nil
	}
	return make(nameIndex, n)
}

func (x nameIndex) add(key *yaml.Node) {
	if x != nil {
		x[key.Value] = key
	}
}

func (x nameIndex) find(among []entry, name string) *yaml.Node {
	if x != nil {
		return x[name]
	}
	for i := range among {
		if among[i].name == name {
			return among[i].key
		}
	}
	return nil
}

func join(path, name string) string {
	if !plainName(name) {
		name = clip(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// plainName reports whether clip leaves a name as it is; most are such.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) < 50
}

// describe names a value in a message: "a list", "the text "no"".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return describe(deref(n))
	}
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return "nothing"
	case tag == "!!int", tag == "!!float":
		return "the number " + clip(n.Value)
	case isBool(n):
		return "the boolean " + clip(n.Value)
	default:
		return "the text " + quote(n.Value)
	}
}

// isBool reports whether n is a boolean where one is expected: true and false, and unquoted yes, no, on, off.
func isBool(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	if n.ShortTag() == "!!bool" {
		return true
	}
	if n.ShortTag() != "!!str" || n.Style&^yaml.TaggedStyle != 0 || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	v := n.Value
	l := strings.ToLower(v)
	if v != l && v != strings.ToUpper(v) && v != strings.ToUpper(l[:1])+l[1:] {
		return false
	}
	return l == "yes" || l == "no" || l == "on" || l == "off"
}

func boolOf(n *yaml.Node) bool {
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on":
		return true
	}
	return false
}
