package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/move"
	"loops/persistence"
)

// A definition is what a run is made of, as it is recorded with it: the loop first, then the loops that its states run,
// as far as they are known. As text it is a YAML document for each, which loads to the same loop by itself; a comment
// behind the mark that begins it says in JSON what it is.
// Files in the project are recorded relative to it, as it may be moved.
type definition struct {
	project project
	loops   []*recordedLoop
}

// A recordedLoop is one loop of a definition.
type recordedLoop struct {
	file, sha256 string
	names        *value.Map // the names by which its states run others, each with the file that it meant
	text         []byte
}

// documentMark begins a document of a definition. What is in a document is indented, or begins with a letter.
const documentMark = "--- # {"

// newDefinition describes a loop and the loops that its states name, as the loader has read them.
func newDefinition(files *loopfile.Loader, l *fsm.Loop) (*definition, error) {
	d := &definition{project: project{Dir: filepath.Dir(files.Loops)}}
	if err := d.add(files, l); err != nil {
		return nil, err
	}
	return d, nil
}

// add adds a loop, in the place of what was known of its file, and those that its states name. What cannot be read is
// left out: it may be there when it is needed.
func (d *definition) add(files *loopfile.Loader, l *fsm.Loop) error {
	text, _, err := files.Effective(l.File, false)
	if err != nil {
		return err
	}
	r := &recordedLoop{file: l.File, sha256: l.SHA256, names: value.NewMap(), text: text}
	if old := d.of(l.File); old != nil {
		*old = *r
		r = old
	} else {
		d.loops = append(d.loops, r)
	}
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil || s.Loop == "" || strings.Contains(s.Loop, "${") {
			continue
		}
		path, err := files.Child(s.Loop, l)
		if err != nil {
			continue
		}
		r.names.Set(s.Loop, path)
		if d.of(path) != nil {
			continue
		}
		if child, _, err := files.Load(path); err == nil && child != nil {
			if err := d.add(files, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn adds the loop that a state of another one is about to run, and says whether that is new.
func (d *definition) learn(files *loopfile.Loader, name string, from, l *fsm.Loop) (bool, error) {
	caller, old := d.of(from.File), d.of(l.File)
	if old != nil && old.sha256 == l.SHA256 && (caller == nil || caller.meant(name) == l.File) {
		return false, nil
	}
	if old == nil || old.sha256 != l.SHA256 {
		if err := d.add(files, l); err != nil {
			return false, err
		}
	}
	if caller != nil {
		caller.names.Set(name, l.File)
	}
	return true, nil
}

// of returns what is known of a file, nil if nothing is. A nil definition knows nothing.
func (d *definition) of(file string) *recordedLoop {
	if d == nil {
		return nil
	}
	for _, r := range d.loops {
		if r.file == file {
			return r
		}
	}
	return nil
}

// main is the loop itself.
func (d *definition) main() *recordedLoop {
	if d == nil {
		return nil
	}
	return d.loops[0]
}

// meant returns the file that a name meant, "" if that is not known.
func (r *recordedLoop) meant(name string) string {
	v, _ := r.names.Get(name)
	path, _ := v.(string)
	return path
}

// mapped returns the names with something else made of their files.
func (r *recordedLoop) mapped(f func(path string) string) *value.Map {
	names := value.NewMap()
	for _, k := range r.names.Keys() {
		names.Set(k, f(r.meant(k)))
	}
	return names
}

// rebase puts the new paths of folders in the place of the old ones.
func (d *definition) rebase(folders []move.Folder) {
	if d == nil || len(folders) == 0 {
		return
	}
	now := func(path string) string { return move.Path(path, folders) }
	for _, r := range d.loops {
		r.file, r.names = now(r.file), r.mapped(now)
	}
}

// load reads the loop. Its file is the one it came from, and so is its checksum.
func (r *recordedLoop) load() (*fsm.Loop, error) {
	l, problems := loopfile.Parse(r.file, r.text)
	if l != nil {
		problems = lint.Check(l)
	}
	for _, p := range problems {
		if p.Severity == fsm.SeverityError {
			return nil, fmt.Errorf("the definition of %s that was recorded is not valid for this version: %s [%s]", r.file, p.Message, p.Rule)
		}
	}
	l.File, l.SHA256 = r.file, r.sha256
	return l, nil
}

// encode returns the definition as text, nil for no definition.
func (d *definition) encode() []byte {
	if d == nil {
		return nil
	}
	var b []byte
	for _, r := range d.loops {
		head := value.NewMap("file", d.project.relative(r.file), "sha256", r.sha256, "bytes", int64(len(r.text)), "loops", r.mapped(d.project.relative))
		b = append(b, strings.TrimSuffix(documentMark, "{")...)
		b = value.AppendJSON(b, head)
		b = append(append(b, '\n'), r.text...)
	}
	return b
}

// parseDefinition reads what encode wrote, for a project.
func parseDefinition(text []byte, p project) (*definition, error) {
	d := &definition{project: p}
	for rest := text; len(rest) > 0; {
		if !bytes.HasPrefix(rest, []byte(documentMark)) {
			return nil, errors.New("it does not say which loop it is")
		}
		line, more, _ := bytes.Cut(rest, []byte("\n"))
		v, err := value.ParseJSON(line[len(documentMark)-1:])
		head, ok := v.(*value.Map)
		if err != nil || !ok {
			return nil, errors.New("it does not say which loop it is")
		}
		r := &recordedLoop{names: value.NewMap()}
		r.file, r.sha256 = p.absolute(headText(head, "file")), headText(head, "sha256")
		if names, ok := headValue(head, "loops").(*value.Map); ok {
			r.names = names
			r.names = r.mapped(p.absolute)
		}
		n, _ := headValue(head, "bytes").(int64)
		if n < 0 || n > int64(len(more)) {
			return nil, errors.New("it is cut off")
		}
		r.text, rest = more[:n], more[n:]
		d.loops = append(d.loops, r)
	}
	if len(d.loops) == 0 {
		return nil, errors.New("it is empty")
	}
	return d, nil
}

func headValue(m *value.Map, key string) any {
	v, _ := m.Get(key)
	return v
}

func headText(m *value.Map, key string) string {
	s, _ := headValue(m, key).(string)
	return s
}

// definition returns what a run was begun, or last gone on, with; nil where that is not recorded, or cannot be read any
// more: then the checksum of its file must do.
func (r records) definition(ctx context.Context, id persistence.ID) *definition {
	d, _ := r.readDefinition(ctx, id)
	return d
}

// readDefinition is definition with the error of a store that cannot read what it has.
func (r records) readDefinition(ctx context.Context, id persistence.ID) (*definition, error) {
	definer, ok := r.Store.(persistence.Definer)
	if !ok {
		return nil, nil
	}
	text, err := definer.Definition(ctx, id)
	if isDamage(err) {
		return nil, nil // one record is damaged, which the views of the run report; the store can be read
	}
	if err != nil || text == nil {
		return nil, err
	}
	d, err := parseDefinition(text, r.project)
	if err != nil {
		return nil, nil // of another version, perhaps: the file of the loop must do
	}
	return d, nil
}

// A keeper keeps the definition of a run that goes on up to date.
type keeper struct {
	def     *definition         // nil = nothing is kept
	journal persistence.Journal // nil = the run has not begun
}

// learn takes note of a loop that a state is about to run.
func (k *keeper) learn(files *loopfile.Loader, name string, from, l *fsm.Loop) error {
	if k == nil || k.def == nil {
		return nil
	}
	changed, err := k.def.learn(files, name, from, l)
	if err != nil || !changed || k.journal == nil {
		return err
	}
	if j, ok := k.journal.(persistence.Redefiner); ok {
		return j.Redefine(context.Background(), k.def.encode())
	}
	return nil
}
