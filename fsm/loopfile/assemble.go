package loopfile

import (
	"errors"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// assemble returns the document with everything in it that it takes from elsewhere: first the loop it inherits
// from, then the states made from flow, then the fragments of its states, and at last where failures lead.
func (d *decoder) assemble() *yaml.Node {
	root := d.inherit(d.main.root, []*source{d.main})
	root = d.flow(root)
	return d.otherwise(d.fragments(root))
}

// include counts a file among those the loop is made of, and reports why it could not be read. It is false if it
// would be one too many.
func (d *decoder) include(s *source, what string, by fsm.Pos) bool {
	if slices.Contains(d.files, s) {
		return true
	}
	if len(d.files) >= MaxFiles || d.size+len(s.data) > MaxTotal {
		return false
	}
	d.files = append(d.files, s)
	d.size += len(s.data)
	switch what {
	case "from":
		d.via[s.name] = "; inherited by " + d.shown(by)
	case "import":
		d.via[s.name] = imported + d.shown(by)
	}
	for _, p := range s.problems {
		if what == "import" {
			p.Message = strings.Replace(p.Message, "a mapping with name, initial and states",
				"a mapping with fragments", 1)
		}
		d.add(d.neededBy(p, by))
	}
	return true
}

const (
	needsFile = " needs this file"
	imported  = "; imported by "
)

// neededBy adds to a problem of another file how the loop comes to need it.
func (d *decoder) neededBy(p fsm.Problem, by fsm.Pos) fsm.Problem {
	if by.File != "" {
		p.Message += "; " + d.shown(by) + needsFile
	}
	return p
}

// need finds and reads the file that a text of the document names. It reports what is in the way of that and returns
// nil then, or if the file holds no mapping.
func (d *decoder) need(n *yaml.Node, path, what string, except string) *source {
	pos, here := d.pos(n), d.source(n)
	if d.loader == nil {
		d.errorf(pos, path, "not-found", "%s needs other files, and this text is read without any", what)
		return nil
	}
	files := []string{here.name}
	if what == "import" {
		files = append(files, d.main.name)
	}
	file, err := d.find(n.Value, except, files...)
	var missing *NotFoundError
	switch {
	case errors.As(err, &missing) && what == "import":
		d.errorf(pos, path, "not-found", "there is no file %s%s", quote(n.Value), missing.where())
		return nil
	case missing != nil && missing.self:
		d.errorf(pos, path, "cycle", "%s is this file itself, and a loop does not inherit from itself", quote(n.Value))
		return nil
	case missing != nil:
		d.errorf(pos, path, "not-found", "%v", err)
		return nil
	case err != nil:
		d.errorf(pos, path, "unreadable", "%s cannot be looked for: %v", quote(n.Value), err)
		return nil
	}
	s, err := d.loader.source(file)
	if err != nil {
		d.errorf(pos, path, "unreadable", "%s %s", d.loader.short(file), cause(file, err))
		return nil
	}
	if !d.include(s, what, pos) {
		d.errorf(pos, path, "too-large", "a loop is made of at most %d files and %d MiB of text, its own included",
			MaxFiles, MaxTotal>>20)
		return nil
	}
	if s.root == nil {
		return nil
	}
	return s
}

// find finds a file, with suggestions for the first that are missing.
func (d *decoder) find(name, except string, files ...string) (string, error) {
	const most = 20
	if d.missing >= most {
		return d.loader.lookUp(name, except, files...)
	}
	path, err := d.loader.search(name, except, files...)
	if err != nil {
		d.missing++
	}
	return path, err
}

// inherit merges a document over the loop that it inherits from. The chain holds the files so far, this one last.
func (d *decoder) inherit(root *yaml.Node, chain []*source) *yaml.Node {
	key, val := find(root, "from")
	if key == nil {
		return root
	}
	rest := d.without(root, "from")
	parent := d.parent(key, val, chain)
	if parent == nil {
		d.partial = true
		return rest
	}
	d.adopt(parent.root, parent)
	return d.merge(d.inherit(parent.root, append(chain, parent)), rest, "")
}

// parent reads the file a document inherits from.
func (d *decoder) parent(key, val *yaml.Node, chain []*source) *source {
	if isNull(val) {
		d.errorf(d.pos(key), "from", "null", "from has no value; expected the name of the loop to inherit from, or "+
			"leave the key out")
		return nil
	}
	if name, ok := d.text(val, "from", "from"); !ok {
		return nil
	} else if strings.TrimSpace(name) == "" {
		d.errorf(d.pos(val), "from", "bad-value", "from is empty; expected the name of the loop to inherit from")
		return nil
	}
	if len(chain) > MaxParents {
		d.errorf(d.pos(val), "from", "too-deep", "more than %d files inherit from each other: %s", MaxParents,
			enumerate(d.namesOf(chain)))
		return nil
	}
	here := chain[len(chain)-1]
	parent := d.need(val, "from", "from", here.name)
	if parent == nil {
		return nil
	}
	for i, c := range chain {
		if c == parent || c.info != nil && os.SameFile(c.info, parent.info) {
			d.errorf(d.pos(val), "from", "cycle", "the loop would inherit from itself: %s",
				strings.Join(d.namesOf(append(chain[i:len(chain):len(chain)], parent)), " -> "))
			return nil
		}
	}
	return parent
}

func (d *decoder) namesOf(files []*source) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = d.shown(fsm.Pos{File: f.name})
	}
	return out
}

// merge lays one value over another: mappings key by key, everything else is replaced. Of a key that both have, the
// upper one is kept.
func (d *decoder) merge(base, over *yaml.Node, path string) *yaml.Node {
	base, over = deref(base), deref(over)
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		if isNull(over) && !isNull(base) {
			d.nulled[over] = base
		}
		return over
	}
	out := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, over)
	lower, upper := d.entries(base, path), d.entries(over, path)
	out.Content = make([]*yaml.Node, 0, 2*(len(lower)+len(upper)))
	at := make(map[string]int, len(lower))
	for _, e := range lower {
		at[e.name] = len(out.Content)
		out.Content = append(out.Content, e.key, e.val)
	}
	for _, e := range upper {
		if i, ok := at[e.name]; ok {
			out.Content[i], out.Content[i+1] = e.key, d.merge(out.Content[i+1], e.val, join(path, e.name))
			continue
		}
		out.Content = append(out.Content, e.key, e.val)
	}
	return out
}

// without returns a mapping without some of its keys.
func (d *decoder) without(m *yaml.Node, names ...string) *yaml.Node {
	out := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, m)
	for _, e := range d.entries(m, "") {
		if !contains(names, e.name) {
			out.Content = append(out.Content, e.key, e.val)
		}
	}
	return out
}

// set returns a mapping in which a key has a value, in its place or at the end.
func (d *decoder) set(m, key, val *yaml.Node) *yaml.Node {
	out := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, m)
	done := false
	for _, e := range d.entries(m, "") {
		if e.name == key.Value {
			e.key, e.val, done = key, val, true
		}
		out.Content = append(out.Content, e.key, e.val)
	}
	if !done {
		out.Content = append(out.Content, key, val)
	}
	return out
}

// scalar makes a text with the position of another node.
func (d *decoder) scalar(value string, at *yaml.Node) *yaml.Node {
	return d.like(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}, at)
}

// defined returns where something of another file is, in brackets; "" for the main file.
func (d *decoder) defined(n *yaml.Node) string {
	if d.source(n) == d.main {
		return ""
	}
	return " (" + d.shown(d.pos(n)) + ")"
}
