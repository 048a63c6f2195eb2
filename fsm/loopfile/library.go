package loopfile

import (
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A LibraryFragment is what a library says of one of its fragments.
type LibraryFragment struct {
	Name, Description string
	Does              string // its action_type and the type of its evaluate, as far as it says them: "shell, exit_code"
	Parameters        []fsm.Parameter
}

// Fragments returns the fragments of a library, or those that a loop file has of its own, in the order of the
// file, and what is wrong with them. The error is about the file, as that of [Loader.Load] is.
func (l *Loader) Fragments(path string) ([]LibraryFragment, []fsm.Problem, error) {
	s, err := l.source(path)
	if err != nil {
		return nil, nil, err
	}
	if s.root == nil {
		return nil, s.problems, nil
	}
	d := newDecoder(s, nil)
	key, val := find(s.root, "fragments")
	if key == nil {
		return nil, nil, nil
	}
	var all []LibraryFragment
	for _, e := range d.definitions(val) {
		if e.val.Kind != yaml.MappingNode {
			d.errorf(d.pos(e.val), join("fragments", e.name), "wrong-type", "a fragment must be a mapping, found %s",
				describe(e.val))
			continue
		}
		f := LibraryFragment{Name: e.name, Description: scalarOf(e.val, "description")}
		does := []string{scalarOf(e.val, "action_type")}
		if _, evaluate := find(e.val, "evaluate"); evaluate != nil && evaluate.Kind == yaml.MappingNode {
			does = append(does, scalarOf(evaluate, "type"))
		}
		f.Does = strings.Trim(strings.Join(does, ", "), ", ")
		if k, parameters := find(e.val, "parameters"); k != nil {
			at := join("fragments", e.name)
			b := &block{
				d: d, in: InState, at: e.val, path: at,
				fields: map[string]field{"parameters": {key: k, node: parameters}},
			}
			f.Parameters = d.parameters(b, "parameters", join(at, "parameters"))
		}
		all = append(all, f)
	}
	return all, d.problems, nil
}

// scalarOf returns the text of a key of a mapping, "" where it has none.
func scalarOf(m *yaml.Node, name string) string {
	_, val := find(m, name)
	if val == nil || val.Kind != yaml.ScalarNode || isNull(val) {
		return ""
	}
	return val.Value
}
