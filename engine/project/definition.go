package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/persistence"
)

// A Definition is what a run is made of, as it is recorded with it: the loop first, then the loops that its states run,
// as far as they are known. As text it is a YAML document for each, which loads to the same loop by itself; a comment
// behind the mark that begins it says in JSON what it is.
// Files in the project are recorded relative to it, as it may be moved.
type Definition struct {
	Project *Project
	Loops   []*RecordedLoop
}

// A RecordedLoop is one loop of a definition.
type RecordedLoop struct {
	File, Sha256 string
	names        *value.Map // the names by which its states run others, each with the file that it meant
	text         []byte
	types        loopfile.Types // that the settings add to those of the language now
}

// documentMark begins a document of a definition. What is in a document is indented, or begins with a letter.
const documentMark = "--- # {"

// NewDefinition describes a loop and the loops that its states name, as the loader has read them.
func NewDefinition(files *loopfile.Loader, l *fsm.Loop) (*Definition, error) {
	d := &Definition{Project: &Project{Dir: filepath.Dir(files.Loops)}}
	if err := d.add(files, l); err != nil {
		return nil, err
	}
	return d, nil
}

// add adds a loop, instead of what was known of its file, and those that its states name. What cannot be read is
// left out: it may be there when it is needed.
func (d *Definition) add(files *loopfile.Loader, l *fsm.Loop) error {
	text, _, err := files.Effective(l.File, false)
	if err != nil {
		return err
	}
	r := &RecordedLoop{File: l.File, Sha256: l.SHA256, names: value.NewMap(), text: text, types: files.Types}
	if old := d.Of(l.File); old != nil {
		*old = *r
		r = old
	} else {
		d.Loops = append(d.Loops, r)
	}
	for _, name := range l.Order {
		if err := d.addCalled(files, l, r, l.States[name]); err != nil {
			return err
		}
	}
	return nil
}

// addCalled adds the loops that a state, or one of its branches, runs.
func (d *Definition) addCalled(files *loopfile.Loader, l *fsm.Loop, r *RecordedLoop, s *fsm.State) error {
	if s == nil {
		return nil
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			if err := d.addCalled(files, l, r, b.State); err != nil {
				return err
			}
		}
	}
	if s.Loop == "" || strings.Contains(s.Loop, "${") {
		return nil
	}
	path, err := files.Child(s.Loop, l)
	if err != nil {
		return nil // what cannot be found is said where it is run
	}
	r.names.Set(s.Loop, path)
	if d.Of(path) != nil {
		return nil
	}
	if child, _, err := files.Load(path); err == nil && child != nil {
		return d.add(files, child)
	}
	return nil
}

// learn adds the loop that a state of another one is about to run, and reports whether that is new.
func (d *Definition) learn(files *loopfile.Loader, name string, from, l *fsm.Loop) (bool, error) {
	caller, old := d.Of(from.File), d.Of(l.File)
	if old != nil && old.Sha256 == l.SHA256 && (caller == nil || caller.Meant(name) == l.File) {
		return false, nil
	}
	if old == nil || old.Sha256 != l.SHA256 {
		if err := d.add(files, l); err != nil {
			return false, err
		}
	}
	if caller != nil {
		caller.names.Set(name, l.File)
	}
	return true, nil
}

// Of returns what is known of a file, nil if nothing is. A nil definition knows nothing.
func (d *Definition) Of(file string) *RecordedLoop {
	if d == nil {
		return nil
	}
	for _, r := range d.Loops {
		if r.File == file {
			return r
		}
	}
	return nil
}

// Main is the loop itself.
func (d *Definition) Main() *RecordedLoop {
	if d == nil {
		return nil
	}
	return d.Loops[0]
}

// Meant returns the file that a name meant, "" if that is not known.
func (r *RecordedLoop) Meant(name string) string {
	v, _ := r.names.Get(name)
	path, _ := v.(string)
	return path
}

// mapped returns the names with something else made of their files.
func (r *RecordedLoop) mapped(f func(path string) string) *value.Map {
	names := value.NewMap()
	for _, k := range r.names.Keys() {
		names.Set(k, f(r.Meant(k)))
	}
	return names
}

// Rebase puts the new paths of folders instead of the old ones.
func (d *Definition) Rebase(folders []MovedFolder) {
	if d == nil || len(folders) == 0 {
		return
	}
	now := func(path string) string { return MovedPath(path, folders) }
	for _, r := range d.Loops {
		r.File, r.names = now(r.File), r.mapped(now)
	}
}

// Load reads the loop. Its file is the one it came from, and so is its checksum.
func (r *RecordedLoop) Load() (*fsm.Loop, error) {
	l, problems := loopfile.Parse(r.File, r.text, r.types)
	if l != nil {
		problems = lint.Check(l)
	}
	for _, p := range problems {
		if p.Severity == fsm.SeverityError {
			return nil, fmt.Errorf("the definition of %s that was recorded is not valid for this version and its "+
				"settings: %s [%s]", r.File, p.Message, p.Rule)
		}
	}
	l.File, l.SHA256 = r.File, r.Sha256
	return l, nil
}

// Text returns the loop as one YAML document, which loads to it by itself.
func (r *RecordedLoop) Text() []byte { return r.text }

// Encode returns the definition as text, nil for no definition.
func (d *Definition) Encode() []byte {
	if d == nil {
		return nil
	}
	var b []byte
	for _, r := range d.Loops {
		head := value.NewMap("file", d.Project.Relative(r.File), "sha256", r.Sha256, "bytes", int64(len(r.text)),
			"loops", r.mapped(d.Project.Relative))
		b = append(b, strings.TrimSuffix(documentMark, "{")...)
		b = value.AppendJSON(b, head)
		b = append(append(b, '\n'), r.text...)
	}
	return b
}

// ParseDefinition reads what encode wrote, for a project.
func ParseDefinition(text []byte, p *Project) (*Definition, error) {
	d := &Definition{Project: p}
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
		r := &RecordedLoop{names: value.NewMap(), types: p.ActionTypes()}
		r.File, r.Sha256 = p.Absolute(headText(head, "file")), headText(head, "sha256")
		if names, ok := headValue(head, "loops").(*value.Map); ok {
			r.names = names
			r.names = r.mapped(p.Absolute)
		}
		n, _ := headValue(head, "bytes").(int64)
		if n < 0 || n > int64(len(more)) {
			return nil, errors.New("it is cut off")
		}
		r.text, rest = more[:n], more[n:]
		d.Loops = append(d.Loops, r)
	}
	if len(d.Loops) == 0 {
		return nil, errors.New("it is empty")
	}
	return d, nil
}

// yamlStar is a plain scalar of YAML that begins as a placeholder does, and would be read as an alias.
var yamlStar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)((?:[:,-] +|[\[{] *))(\*\*\*\([^)"\n]*\)[^\s,"\]}]*)`)
})

// ChangedDefinition returns what encode wrote with the text of each loop changed.
func ChangedDefinition(text string, p *Project, change func(string) string) string {
	d, err := ParseDefinition([]byte(text), p)
	if err != nil {
		return change(text)
	}
	changed := false
	for _, r := range d.Loops {
		was := string(r.text)
		is := change(was)
		if is == was {
			continue
		}
		changed, r.text = true, []byte(is)
		if _, err := r.Load(); err != nil {
			r.text = yamlStar().ReplaceAll(r.text, []byte(`$1"$2"`))
		}
	}
	if !changed {
		return text
	}
	return string(d.Encode())
}

// IsDefinition reports whether a text is one that encode wrote.
func IsDefinition(text string) bool { return strings.HasPrefix(text, documentMark) }

func headValue(m *value.Map, key string) any {
	v, _ := m.Get(key)
	return v
}

func headText(m *value.Map, key string) string {
	s, _ := headValue(m, key).(string)
	return s
}

// KeptDefinition returns what a run was begun, or last continued, with; nil where that is not recorded, or cannot
// be read any more: then the checksum of its file must do.
func (r *Records) KeptDefinition(ctx context.Context, id persistence.ID) *Definition {
	d, _ := r.ReadDefinition(ctx, id)
	return d
}

// ReadDefinition is KeptDefinition with the error of a store that cannot read what it has.
func (r *Records) ReadDefinition(ctx context.Context, id persistence.ID) (*Definition, error) {
	return r.parsed(r.Definition(ctx, id))
}

// DefinitionOf is KeptDefinition of a run that was found. Nothing is read twice if it came with its reading.
func (r *Records) DefinitionOf(ctx context.Context, run persistence.Run) *Definition {
	d, _ := r.ReadDefinitionOf(ctx, run)
	return d
}

// ReadDefinitionOf is DefinitionOf with the error of a store that cannot read what it has.
func (r *Records) ReadDefinitionOf(ctx context.Context, run persistence.Run) (*Definition, error) {
	if run.Reading == nil {
		return r.ReadDefinition(ctx, run.ID)
	}
	return r.parsed(run.Reading.Definition(ctx))
}

// MemoryOf is Snapshot of a run that was found. Nothing is read twice if it came with its reading.
func (r *Records) MemoryOf(ctx context.Context, run persistence.Run) (*fsm.Snapshot, error) {
	if run.Reading == nil {
		return r.Snapshot(ctx, run.ID)
	}
	return run.Reading.Memory(ctx)
}

// EventsOf is Events of a run that was found. Nothing is read twice if it came with its reading.
func (r *Records) EventsOf(ctx context.Context, run persistence.Run, after uint64) iter.Seq2[fsm.Event, error] {
	if run.Reading == nil {
		return r.Events(ctx, run.ID, after)
	}
	return r.watched(ctx, run.ID, after, run.Reading.Events(ctx, after))
}

func (r *Records) parsed(text []byte, err error) (*Definition, error) {
	if IsDamage(err) {
		return nil, nil // one record is damaged, which the views of the run report; the store can be read
	}
	if err != nil || text == nil {
		return nil, err
	}
	d, err := ParseDefinition(text, r.Project)
	if err != nil {
		return nil, nil // of another version, perhaps: the file of the loop must do
	}
	return d, nil
}

// A Keeper keeps the definition of a running run up to date.
type Keeper struct {
	Def     *Definition         // nil = nothing is kept
	Journal persistence.Journal // nil = the run has not begun
}

// learn takes note of a loop that a state is about to run.
func (k *Keeper) learn(files *loopfile.Loader, name string, from, l *fsm.Loop) error {
	if k == nil || k.Def == nil {
		return nil
	}
	changed, err := k.Def.learn(files, name, from, l)
	if err != nil || !changed || k.Journal == nil {
		return err
	}
	return k.Journal.Redefine(context.Background(), k.Def.Encode())
}
