package loopfile

import (
	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A library is what a file offers to files that import it.
type library struct {
	fragments []entry
	imports   bool // the file imports others, which are not read
	problems  []fsm.Problem
}

func newLibrary(s *source) *library {
	lib := &library{}
	d := newDecoder(s, nil)
	key, val := find(s.root, "fragments")
	if imports, _ := find(s.root, "import"); imports != nil {
		lib.imports = true
	}
	if key != nil {
		lib.fragments = d.definitions(val)
	}
	lib.problems = d.problems
	return lib
}

// definitions reads a mapping of fragments.
func (d *decoder) definitions(val *yaml.Node) []entry {
	if isNull(val) {
		return nil
	}
	if val.Kind != yaml.MappingNode {
		d.errorf(d.pos(val), "fragments", "wrong-type",
			"fragments must be a mapping of names to partial states, found %s", describe(val))
		return nil
	}
	return d.entries(val, "fragments")
}

// A fragment is a partial state that others are built from.
type fragment struct {
	entry
	src  *source
	size extent // aliases written out; zero = not looked at yet
}

// What the fragments of a loop may come to, each counted where it is used.
const (
	maxExpanded     = 2_000_000 // values
	maxExpandedText = 64 << 20  // bytes
)

// fragments lays every state that names a fragment over it, and takes import and fragments out of the document.
func (d *decoder) fragments(root *yaml.Node) *yaml.Node {
	importKey, imports := find(root, "import")
	ownKey, own := find(root, "fragments")
	rest := root
	if importKey != nil || ownKey != nil {
		rest = d.without(root, "import", "fragments")
	}
	shelf := &shelf{byName: map[string]*fragment{}, whole: true}
	if importKey != nil && !isNull(imports) {
		d.importAll(shelf, imports)
	}
	if ownKey != nil {
		for _, e := range d.definitions(own) {
			shelf.put(&fragment{entry: e, src: d.source(e.key)})
		}
	}
	key, states := find(rest, "states")
	if key == nil || states.Kind != yaml.MappingNode {
		return rest
	}
	// Most documents are taken as they are.
	uses := false
	for i := 0; i+1 < len(states.Content) && !uses; i += 2 {
		s := deref(states.Content[i+1])
		if uses = isMerge(states.Content[i]); s.Kind == yaml.MappingNode && !uses {
			k, _ := find(s, "fragment")
			uses = k != nil
		}
	}
	if !uses {
		return rest
	}
	out := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, states)
	for _, e := range d.entries(states, "states") {
		out.Content = append(out.Content, e.key, d.expand(e, shelf))
	}
	return d.set(rest, key, out)
}

// A shelf holds the fragments that the states of a loop may use.
type shelf struct {
	byName  map[string]*fragment
	names   []string
	whole   bool // everything that was to be imported is there
	values  int  // in the fragments used so far
	text    int  // in them, in bytes
	imports []string
}

func (s *shelf) put(f *fragment) {
	if s.byName[f.name] == nil {
		s.names = append(s.names, f.name)
	}
	s.byName[f.name] = f
}

// importAll reads the libraries. Of two fragments of one name the later wins.
func (d *decoder) importAll(to *shelf, imports *yaml.Node) {
	if imports.Kind != yaml.SequenceNode {
		hint := ""
		if imports.Kind == yaml.ScalarNode {
			hint = "; write [" + clip(imports.Value) + "]"
		}
		d.errorf(d.pos(imports), "import", "wrong-type", "import must be a list of files, found %s%s",
			describe(imports), hint)
		to.whole = false
		return
	}
	for _, c := range imports.Content {
		n := deref(c)
		if _, ok := d.text(n, "import", "an entry of import"); !ok {
			to.whole = false
			continue
		}
		src := d.need(n, "import", "import", "")
		if src == nil {
			to.whole = false
			continue
		}
		lib := src.lib()
		for _, p := range lib.problems {
			d.add(d.neededBy(p, d.pos(n)))
		}
		if lib.imports && src != d.main {
			to.imports = append(to.imports, src.name)
		}
		if len(lib.fragments) == 0 && len(lib.problems) == 0 {
			d.warnf(d.pos(n), "import", "ignored", "%s has no fragments, so the import has no effect", quote(n.Value))
		}
		for _, e := range lib.fragments {
			to.put(&fragment{entry: e, src: src})
		}
	}
}

// Names of the parameters that a run binds itself.
var boundByRun = map[string]bool{"run_dir": true, "loop_name": true, "started_at": true, "input_hash": true}

// expand returns the body of a state with its fragment merged in. What the state says wins. Keys for tools say which
// fragment it was, what was bound and what was declared, see [fsm.Fragment].
func (d *decoder) expand(e entry, from *shelf) *yaml.Node {
	if e.val.Kind != yaml.MappingNode {
		return e.val
	}
	key, val := find(e.val, "fragment")
	if key == nil {
		return e.val
	}
	path := join("states", e.name)
	state := d.without(e.val, "fragment")
	if isNull(val) {
		return state
	}
	f, body := d.fragment(val, join(path, "fragment"), from)
	if f == nil {
		d.open[state] = true
		return state
	}
	out := d.merge(d.without(body, "description", "parameters", "fragment"), state, path)
	paramsKey, params := find(body, "parameters")
	withKey, with := find(out, "with")
	var bound *yaml.Node
	if withKey != nil && with.Kind == yaml.MappingNode {
		// A state that also runs a loop has values for both; those the fragment does not know are for the loop.
		loop, _ := find(out, "loop")
		bound = d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, with)
		left := d.like(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, with)
		for _, b := range d.entries(with, join(path, "with")) {
			to := bound
			if loop != nil && !declares(params, b.name) {
				to = left
			}
			to.Content = append(to.Content, b.key, b.val)
		}
		out = d.without(out, "with")
		if len(left.Content) > 0 {
			out.Content = append(out.Content, withKey, left)
		}
	}
	out.Content = append(out.Content, d.scalar("fragment_name", key), val)
	if bound != nil && len(bound.Content) > 0 {
		out.Content = append(out.Content, d.scalar("fragment_bindings", withKey), bound)
	}
	if paramsKey != nil {
		out.Content = append(out.Content, d.scalar("fragment_parameters", paramsKey), params)
	}
	return out
}

func declares(params *yaml.Node, name string) bool {
	if params == nil || params.Kind != yaml.MappingNode {
		return false
	}
	key, _ := find(params, name)
	return key != nil
}

// fragment finds the fragment a state names, with its body.
func (d *decoder) fragment(val *yaml.Node, path string, from *shelf) (*fragment, *yaml.Node) {
	name, ok := d.text(val, path, "fragment")
	if !ok {
		return nil, nil
	}
	f := from.byName[name]
	if f == nil {
		if !from.whole {
			return nil, nil // it may be in what could not be read, which was reported
		}
		known := "; the loop neither has nor imports any"
		if len(from.names) > 0 {
			known = didYouMean(name, from.names) + " (fragments: " + enumerate(from.names) + ")"
		}
		if len(from.imports) > 0 {
			known += "; what " + and(from.imports) + " imports is not followed"
		}
		d.errorf(d.pos(val), path, "unknown-fragment", "there is no fragment %s%s", quote(name), known)
		return nil, nil
	}
	body := f.val
	if f.size.nodes == 0 {
		c := counter{seen: map[*yaml.Node]extent{}}
		f.size = c.count(body, 1)
		d.adopt(f.key, f.src)
		d.adopt(body, f.src)
	}
	from.values += f.size.nodes
	if from.text += f.size.text; from.values > maxExpanded || from.text > maxExpandedText {
		d.errorf(d.pos(val), path, "too-large", "with its fragments written out the loop has more than %d values, "+
			"or %d MiB of text", maxExpanded, maxExpandedText>>20)
		return nil, nil
	}
	if body.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.key), join("fragments", name), "wrong-type", "the fragment %s must be a mapping, found %s",
			quote(name), describe(body))
		return nil, nil
	}
	if inner, _ := find(body, "fragment"); inner != nil {
		d.warnf(d.pos(inner), join("fragments", name)+".fragment", "fragment-chain",
			"a fragment is not built from another one: fragment has no effect here; name it in the state, or "+
				"repeat what it says")
	}
	return f, body
}
