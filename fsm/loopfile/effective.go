package loopfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"loops/fsm"
)

// maxShown is the size of the largest text that [Loader.Effective] returns, in bytes.
const maxShown = 4 * MaxSize

// Effective returns the definition of the loop at path as one text: what it inherits, its flow and its fragments are
// written out, aliases too, and comments are left out. The text loads to the same loop as the file. With origins a
// comment after each value says in which file and line it is.
//
// The problems are those of [Loader.Load]; a loop with errors has a text too, unless it cannot be determined what it is
// made of. Then the text is nil. The error is as for Load, or says that the text would be larger than 64 MiB, which
// aliases can make it.
func (l *Loader) Effective(path string, origins bool) (text []byte, problems []fsm.Problem, err error) {
	u := l.unit(path)
	if u.check(); u.err != nil {
		return nil, nil, u.err
	}
	if u.dec.merged == nil || u.dec.partial {
		return nil, u.problems, nil
	}
	w := &writer{origins: u.dec.origins}
	if origins {
		w.comment = commenter(filepath.Dir(u.dec.main.name))
	}
	w.mapping(u.dec.merged, 0)
	if w.out.Len() > maxShown {
		return nil, u.problems, fmt.Errorf("%s comes to more than %d MiB with its aliases written out", path,
			maxShown>>20)
	}
	return w.out.Bytes(), u.problems, nil
}

// commenter returns a function that says where a value is, as seen from a folder.
func commenter(folder string) func(fsm.Pos) string {
	names := map[string]string{}
	return func(p fsm.Pos) string {
		name, ok := names[p.File]
		if !ok {
			name = p.File
			if rel, err := filepath.Rel(folder, p.File); err == nil && filepath.IsLocal(rel) {
				name = filepath.ToSlash(rel)
			}
			name = printable(strings.TrimSpace(name))
			names[p.File] = name
		}
		return fmt.Sprintf(" # %s:%d", name, p.Line)
	}
}
