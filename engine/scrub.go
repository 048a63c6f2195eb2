package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
)

// mostSearched is how many bytes a file may have that is searched for secrets.
const mostSearched = 256 << 20

// The parts of a record that are no files. Others are the paths of files.
const (
	InEvents     = "events"
	InMemory     = "memory"
	InCommands   = "commands"
	InDefinition = "definition"
)

// A FoundSecret is a kind of secret in a part of what is recorded of a run. It has no value.
type FoundSecret struct {
	Where string // one of the words above, or the absolute path of a file
	Kind  string // a declared name, or the shape of a token
	Count int
}

// A SecretSearch looks for secrets in what is recorded of runs: tokens by their shape, and the values of the names that
// the settings and the loops of the runs declare.
type SecretSearch struct {
	Project *project.Project
	Env     []string // for variables
}

// Look returns what secrets are on record of a run. It calls no command of a secret, and passes over what
// cannot be read.
func (x SecretSearch) Look(ctx context.Context, store *project.Records, run persistence.Run) []FoundSecret {
	s, _ := x.secretsOf(ctx, store, run, false)
	l := &secretLook{x: x, s: s}
	l.record(ctx, store, run)
	l.files(run.ID, nil)
	_ = l.lessons(ctx, run.ID) // nothing is rewritten
	return l.found
}

// secretsOf returns the secrets that may be on record of a run; commands: with those that commands print. A
// secret whose value cannot be had is an error, and the others are there.
func (x SecretSearch) secretsOf(ctx context.Context, store *project.Records, run persistence.Run,
	commands bool,
) (*secrets, error) {
	conf, err := x.Project.Config()
	s := newSecrets(conf, x.Env, x.Project.Dir)
	s.run = x.Project.RunDir(run.ID)
	names := s.settled()
	if def := store.DefinitionOf(ctx, run); def != nil {
		for _, l := range def.Loops {
			if loop, err := l.Load(); err == nil {
				names = append(names, loop.Secrets...)
			}
		}
	}
	errs := []error{err}
	for _, name := range names {
		if commands || s.conf.Secret(name).Command == "" {
			errs = append(errs, s.declare(ctx, []string{name}))
		}
	}
	return s, errors.Join(errs...)
}

// A secretLook counts the secrets of a run.
type secretLook struct {
	x     SecretSearch
	s     *secrets
	hold  bool // what is found gets its placeholder
	found []FoundSecret
	left  []LeftFile
}

// A LeftFile is a file with a secret, or too long to be searched, that Scrub left as it is.
type LeftFile struct{ Path, Why string }

// count adds what is in texts.
func (l *secretLook) count(where string, each func(text func(string))) {
	kinds := map[string]int{}
	each(func(s string) {
		l.s.mask.Count([]byte(s), kinds)
		if l.hold {
			l.s.mask.Again(s)
		}
	})
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		l.found = append(l.found, FoundSecret{where, kind, kinds[kind]})
	}
}

// record looks through what the store has.
func (l *secretLook) record(ctx context.Context, store *project.Records, run persistence.Run) {
	l.count(InEvents, func(text func(string)) {
		for ev, err := range store.Events(ctx, run.ID, 0) {
			if err != nil {
				continue // views of the run report damage
			}
			if v, err := value.ParseJSON(ev.AppendJSON(nil)); err == nil {
				eachText(v, text)
			}
		}
	})
	l.count(InMemory, func(text func(string)) {
		eachText(run.Options, text)
		if m, err := store.Snapshot(ctx, run.ID); err == nil {
			memoryTexts(m, text)
		}
	})
	commands, _ := store.Commands(ctx, run.ID, 0)
	l.count(InCommands, func(text func(string)) {
		for _, c := range commands {
			eachText(c.Args, text)
		}
	})
	if def := store.DefinitionOf(ctx, run); def != nil {
		l.count(InDefinition, func(text func(string)) {
			for _, r := range def.Loops {
				text(string(r.Text()))
			}
		})
	}
}

// memoryTexts calls text with what a run remembers of actions and of its context.
func memoryTexts(m *fsm.Snapshot, text func(string)) {
	for m != nil {
		eachText(m.Context, text)
		eachText(m.Captured, text)
		eachText(m.PrevResult, text)
		for _, s := range m.Messages {
			text(s)
		}
		if m.Child == nil {
			return
		}
		for _, s := range m.Child.Log {
			text(s)
		}
		m = m.Child.Memory
	}
}

// files looks through the working folder of a run and its logs, and calls found, unless it is nil, with each
// file that has a secret.
func (l *secretLook) files(id persistence.ID, found func(path string, text []byte)) {
	look := func(path string, e fs.DirEntry) {
		info, err := e.Info()
		if err != nil || !e.Type().IsRegular() || e.Name() == persistence.SealedFile {
			return
		}
		if info.Size() > mostSearched {
			l.left = append(l.left,
				LeftFile{path, fmt.Sprintf("it has more than %d MiB and was not searched", mostSearched>>20)})
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return
		}
		n := len(l.found)
		l.count(path, func(text func(string)) { text(string(b)) })
		if len(l.found) > n && found != nil {
			found(path, b)
		}
	}
	_ = filepath.WalkDir(l.x.Project.RunDir(id), func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			look(path, e)
		}
		return nil
	})
	for _, path := range persistence.LogFiles(filepath.Join(l.x.Project.Loops, "logs"), id) {
		if info, err := os.Lstat(path); err == nil {
			look(path, fs.FileInfoToDirEntry(info))
		}
	}
}

// lessons looks through the facts that a run left in memories of loops. Those with a secret are rewritten if l.hold.
func (l *secretLook) lessons(ctx context.Context, id persistence.ID) error {
	folder := persistence.ProjectLessons(l.x.Project.Loops)
	names, err := folder.Names()
	errs := []error{err}
	own := func(x fsm.Lesson) bool { return x.Run == string(id) || strings.HasPrefix(x.Run, string(id)+"/") }
	for _, name := range names {
		m, err := folder.Load(name)
		if err != nil {
			continue // memory show reports that
		}
		n := len(l.found)
		l.count(folder.Path(name), func(text func(string)) {
			for _, x := range m.Facts {
				if own(x) {
					text(x.Text)
				}
			}
		})
		if !l.hold || len(l.found) == n {
			continue
		}
		errs = append(errs, folder.Rewrite(ctx, name, func(x fsm.Lesson) string {
			if own(x) {
				return l.s.mask.Again(x.Text)
			}
			return x.Text
		}))
	}
	return errors.Join(errs...)
}

// A ScrubRequest asks that secrets on record become placeholders.
type ScrubRequest struct {
	Runs   []string // ids of runs, or names of loops: then their newest
	All    bool     // instead: each run of the project that no process owns
	DryRun bool     // only look
}

// A Scrubbed says what was found of a run, and became placeholders.
type Scrubbed struct {
	Run   persistence.Run
	Found []FoundSecret
	Left  []LeftFile
}

// Scrub replaces secrets in what is recorded of runs by placeholders. It returns those with secrets, or that were asked
// for by name, also where another failed. A run that a live process owns is refused, and with All it is an error beside
// the others.
func (e *Engine) Scrub(ctx context.Context, r ScrubRequest) (done []Scrubbed, _ error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	runs, err := e.scrubbed(ctx, store, r)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, run := range runs {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		if len(runs) > 1 {
			e.bus.tell(Progress{i, len(runs)})
		}
		s, err := e.scrub(ctx, store, run, r.DryRun)
		if err != nil {
			errs = append(errs, err)
		} else if !r.All || len(s.Found)+len(s.Left) > 0 {
			done = append(done, *s)
		}
	}
	return done, several(errs...)
}

// scrubbed returns the runs of a request.
func (e *Engine) scrubbed(ctx context.Context, store *project.Records, r ScrubRequest) (runs []persistence.Run,
	err error,
) {
	if r.All {
		all, err := store.Runs(ctx, persistence.Query{})
		if err != nil {
			return nil, store.Failed(err)
		}
		return project.Current(all), nil
	}
	for _, name := range r.Runs {
		if err := unnamed(name); err != nil {
			return nil, err
		}
		run, err := store.Finder().One(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(runs, func(o persistence.Run) bool { return o.ID == run.ID }) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

func (e *Engine) scrub(ctx context.Context, store *project.Records, run persistence.Run, dryRun bool) (*Scrubbed,
	error,
) {
	held := func(o persistence.Owner) error {
		return refuse(Conflict, "run %s is running (pid %d), and writes its record; stop it first: %s", run.ID, o.PID,
			Do(OpStop, string(run.ID)))
	}
	if alive(run) && !dryRun {
		return nil, held(run.Owner)
	}
	x := SecretSearch{e.p, e.o.Env}
	s, err := x.secretsOf(ctx, store, run, !dryRun)
	if err != nil {
		return nil, refuse(Invalid, "run %s: %v", run.ID, err)
	}
	l := &secretLook{x: x, s: s, hold: !dryRun}
	if l.hold {
		s.restore(e.p, s.run, run.Origin, func(Notice) {}, run.ID)
	}
	l.record(ctx, store, run)
	s.mask.Spread()
	if dryRun {
		l.files(run.ID, nil)
		return &Scrubbed{run, l.found, l.left}, l.lessons(ctx, run.ID)
	}
	if run.Live() { // its process died, and it is not in the archive
		if _, err := e.Reconcile(ctx, run.ID); err != nil {
			return nil, err
		}
	}
	var kept error
	keep := func() error { // before the record loses it: a run that can be resumed needs it
		if run.Resumable {
			return s.seal()
		}
		return nil
	}
	if kept = keep(); kept != nil {
		return nil, kept
	}
	kinds := map[string]int{}
	changed, err := store.Scrub(ctx, run.ID, func(text string) string {
		s.mask.Count([]byte(text), kinds)
		if project.IsDefinition(text) {
			return project.ChangedDefinition(text, e.p, s.mask.Again)
		}
		return s.mask.Again(text)
	}, func() error { return errors.Join(l.rewriteFiles(run.ID), l.lessons(ctx, run.ID), keep()) })
	owner, isHeld := errors.AsType[*persistence.HeldError](err)
	switch {
	case isHeld:
		return nil, held(owner.Owner)
	case errors.Is(err, errors.ErrUnsupported):
		return nil, refuse(Failed, "%v: remove it: %s", err, Do("rm", string(run.ID)))
	case err != nil:
		return nil, fmt.Errorf("run %s was not scrubbed: %w", run.ID, store.Failed(err))
	}
	if len(l.found) == 0 && changed { // what the run remembered once, and does not any more
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			l.found = append(l.found, FoundSecret{InMemory, kind, kinds[kind]})
		}
	}
	return &Scrubbed{run, l.found, l.left}, nil
}

// rewriteFiles replaces secrets in the files of a run. Each file is as it was or as it is to be.
func (l *secretLook) rewriteFiles(id persistence.ID) error {
	var errs []error
	l.files(id, func(path string, text []byte) {
		name := filepath.Base(path)
		switch {
		case filepath.Base(filepath.Dir(path)) == "blobs" && len(name) == 64:
			return // a text of the record, which goes with what names it
		case bytes.IndexByte(text, 0) >= 0:
			l.left = append(l.left, LeftFile{path, "it is no text"})
			return
		}
		masked := l.s.mask.Again(string(text))
		if strings.HasPrefix(name, "definition.") && project.IsDefinition(string(text)) {
			masked = project.ChangedDefinition(string(text), l.x.Project, l.s.mask.Again)
		}
		if err := replaceFile(path, masked); err != nil {
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

// replaceFile gives a file another text, with the mode and the time that it had.
func replaceFile(path, text string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	tmp := path + ".scrub"
	f, err := disk.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(st.Mode().Perm()), f.Sync(), f.Close(), os.Chtimes(tmp, st.ModTime(), st.ModTime()))
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, disk.Remove(tmp))
	}
	return nil
}
