package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loops/fsm"
	"loops/fsm/glob"
	"loops/internal/disk"
	"loops/internal/git"
	"loops/persistence"
)

// checks give checks the files that an agent cannot change: those with which the run began, or a copy with a fault.
type checks struct {
	folders *walks
	needed  bool // a state wants files with which the run began
	any     bool // a state is a check, where known

	mu sync.Mutex // held while the files of a check are laid over others
}

// checks returns what gives the checks of a run their files.
func (e *Engine) checks(j *job, folders *walks) *checks {
	c := &checks{folders: folders}
	c.needed, folders.below = c.startFiles(j.loop, j.library, map[string]bool{})
	return c
}

// startFiles reports whether a state of a loop, or of those that it runs, may want files with which the run began, and
// returns the patterns of them as git reads them. What a sub-loop wants is not known if its name has a template.
func (c *checks) startFiles(l *fsm.Loop, lib fsm.Library, seen map[string]bool) (wanted bool, patterns []string) {
	seen[l.File+"\x00"+l.Name] = true
	var look func(st *fsm.State)
	look = func(st *fsm.State) {
		c.any = c.any || st.Check != nil
		if st.Check != nil && st.Check.Files != nil {
			wanted, patterns = true, append(patterns, gitPatterns(st.Check.Files)...)
		}
		if st.Branches != nil {
			for _, b := range st.Branches.List {
				look(b.State)
			}
		}
		switch {
		case st.Loop == "":
		case strings.Contains(st.Loop, "${"):
			wanted = true
		default:
			sub, err := lib.Loop(st.Loop, l)
			if err != nil || seen[sub.File+"\x00"+sub.Name] {
				return // the state that runs it says so
			}
			inner, more := c.startFiles(sub, lib, seen)
			wanted, patterns = wanted || inner, append(patterns, more...)
		}
	}
	for _, name := range l.Order {
		if st := l.States[name]; st != nil {
			look(st)
		}
	}
	return wanted, patterns
}

// gitPatterns returns patterns as git's :(glob) has them.
func gitPatterns(all []glob.Pattern) (patterns []string) {
	for _, p := range all {
		texts, _ := glob.Alternatives(p.String()) // it was compiled
		for _, text := range texts {
			text = strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
			patterns = append(patterns, text, text+"/**")
		}
	}
	return patterns
}

// prepare fits fsm.Config.Prepare: what a process that was killed left laid over the files of an agent is put
// back before anything else is made.
func (c *checks) prepare(more func(context.Context) (fsm.Event, error)) func(context.Context) (fsm.Event, error) {
	if _, err := os.Lstat(c.file()); err != nil {
		return more
	}
	return func(ctx context.Context) (fsm.Event, error) {
		if err := c.finish(ctx); err != nil {
			return fsm.Event{},
				&FilesError{fmt.Errorf("those that lie under the files of a check cannot be put back: %w", err)}
		}
		if more == nil {
			return fsm.Event{}, nil
		}
		return more(ctx)
	}
}

// start fits fsm.World.Start.
func (c *checks) start(ctx context.Context, known string) (string, error) {
	if !c.needed && known == "" {
		return "", nil
	}
	w, tree := c.folders.of(""), known
	var err error
	if tree == "" {
		tree, err = w.Tree(ctx)
	}
	if err == nil {
		_, err = w.Keep(ctx, git.ProofRef(string(c.folders.id), git.AtStart), tree,
			proofMessage(c.folders.id, "Files that a run began with"))
	}
	if err != nil {
		return "", &FilesError{fmt.Errorf("git cannot keep the files with which the run began: %w", err)}
	}
	return tree, nil
}

func proofMessage(id persistence.ID, what string) string {
	return fmt.Sprintf("%s\n\nLoops-Run: %s\n", what, id)
}

// A checkRunner runs actions with the files of their checks.
type checkRunner struct {
	fsm.Runner
	c *checks
}

func (c *checks) runner(next fsm.Runner) fsm.Runner { return checkRunner{next, c} }

// Run implements [fsm.Runner].
func (r checkRunner) Run(ctx context.Context, a fsm.Action, out func(text string)) (fsm.Result, error) {
	switch {
	case a.Check == nil:
		return r.Runner.Run(ctx, a, out)
	case a.Check.Fault != "":
		return r.c.planted(ctx, r.Runner, a, out)
	case a.Check.Start == nil:
		return r.Runner.Run(ctx, a, out)
	}
	return r.c.over(ctx, r.Runner, a, out)
}

// A laying is on disk while files of a check lie over those of an agent.
type laying struct {
	Dir    string `json:"dir"`    // the folder
	Before string `json:"before"` // the tree of it before
	Laid   string `json:"laid"`   // and with these files
}

// file is where a laying is. Only one is at work at a time.
func (c *checks) file() string {
	return filepath.Join(c.folders.dir, persistence.WalkFolder, "laid.json")
}

// over runs an action while the files of its check are those with which the run began.
func (c *checks) over(ctx context.Context, next fsm.Runner, a fsm.Action, out func(text string)) (res fsm.Result,
	err error,
) {
	failed := c.laid(ctx, a.Dir, a.Check, func(ctx context.Context) { res, err = next.Run(ctx, a, out) })
	if failed != nil {
		return res, errors.Join(err, fmt.Errorf("state %s: %w", a.State, failed))
	}
	return res, err
}

// laid fits [fsm.World.Laid].
func (c *checks) laid(ctx context.Context, dir string, with *fsm.CheckRun, do func(context.Context)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	failed := func(err error) error {
		return fmt.Errorf("the files of the check cannot be those with which the run began: %w", err)
	}
	w := c.folders.of(dir)
	before, err := w.Tree(ctx, with.Begin)
	if err != nil {
		return failed(err)
	}
	laid, err := w.Replace(ctx, before, with.Begin, func(path string) bool { return covers(with.Start, path) })
	if err != nil {
		return failed(err)
	}
	if laid == before {
		do(ctx)
		return nil
	}
	if err := writeLaying(c.file(), laying{dir, before, laid}); err != nil {
		return failed(err)
	}
	if err := w.Lay(ctx, before, laid); err != nil {
		return errors.Join(failed(err), c.finish(context.WithoutCancel(ctx)))
	}
	do(ctx)
	if err := c.finish(context.WithoutCancel(ctx)); err != nil {
		return failed(err)
	}
	return nil
}

func covers(all []glob.Pattern, path string) bool {
	return slices.ContainsFunc(all, func(p glob.Pattern) bool { return p.Covers(path) })
}

// writeLaying writes a laying durably.
func writeLaying(path string, l laying) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}

// finish puts files back over which those of a check lie, if there are any. It may be repeated after it was cut short.
func (c *checks) finish(ctx context.Context) error {
	text, err := os.ReadFile(c.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var l laying
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return err
	}
	if err := c.folders.of(l.Dir).Lay(ctx, l.Laid, l.Before); err != nil {
		return err
	}
	return os.Remove(c.file())
}

// fault is what a planted fault makes of each file.
const fault = "loops planted this fault: no check of what was here can pass\n"

// planted runs an action in a copy of its folder in whose files there is a fault.
func (c *checks) planted(ctx context.Context, next fsm.Runner, a fsm.Action, out func(text string)) (fsm.Result,
	error,
) {
	w := c.folders.of(a.Dir)
	place := filepath.Join(c.folders.dir, persistence.WalkFolder)
	top := filepath.Join(place, "copy")
	defer os.RemoveAll(top) //nolint:errcheck // the next copy removes it
	err := errors.Join(os.RemoveAll(top), disk.MkdirAll(top, 0o700))
	if err != nil {
		return fsm.Result{}, err
	}
	tree, err := w.Tree(ctx)
	if err != nil {
		return fsm.Result{}, err
	}
	if a.Check.Start != nil {
		if tree, err = w.Replace(ctx, tree, a.Check.Begin, func(path string) bool {
			return covers(a.Check.Start, path)
		}); err != nil {
			return fsm.Result{}, err
		}
	}
	dir, files, err := w.CheckOut(ctx, tree, top)
	if err == nil {
		err = disk.MkdirAll(dir, 0o700)
	}
	if err == nil && a.Check.Fault != fsm.FaultNone {
		err = plant(dir, files, a)
	}
	if err != nil {
		return fsm.Result{}, err
	}
	a.Dir, a.Check = dir, nil
	return next.Run(ctx, a, out)
}

// interpreters run the file whose name follows them.
var interpreters = []string{
	"sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl",
	"php", ".",
}

// runs reports whether a script runs a file, as far as its words show that: it is executable or the argument of an
// interpreter.
func runs(script, name string, mode fs.FileMode) bool {
	words := strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`", r) })
	for i, word := range words {
		if strings.TrimPrefix(word, "./") == name &&
			(mode&0o111 != 0 || i > 0 && slices.Contains(interpreters, filepath.Base(words[i-1]))) {
			return true
		}
	}
	return false
}

// plant does a fault to files of a folder: to those that the action may not be made of. A script that the action names
// is none of them.
func plant(dir string, files []string, a fsm.Action) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	planted := 0
	for _, name := range files {
		if covers(a.Check.Spare, name) || a.Check.Only != nil && !covers(a.Check.Only, name) ||
			strings.HasPrefix(name, ".loops/") {
			continue
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && runs(a.Text, name, info.Mode()) {
			continue
		}
		planted++
		if err := root.Remove(name); err != nil {
			return err
		}
		if a.Check.Fault == fsm.FaultBroken {
			if err := root.WriteFile(name, []byte(fault), info.Mode().Perm()|0o600); err != nil {
				return err
			}
		}
	}
	if planted == 0 {
		return fsm.ErrNoFault
	}
	return nil
}
