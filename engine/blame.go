package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// A Blamed says which step of a run wrote a line of a file.
type Blamed struct {
	File     string // absolute
	Line     int    // from 1
	Text     string // the line as it is now, without its end
	Run      persistence.Run
	Snapshot git.Snapshot // after the step
}

// Blame finds the step that wrote a line of a file, whose name is absolute, among the runs whose files were kept, the
// newest first. Lines count from 1. A line that no recorded step wrote is a refusal, NotFound.
func (e *Engine) Blame(ctx context.Context, file string, line int) (*Blamed, error) {
	b, err := lineOf(file, line)
	if err != nil {
		return nil, err
	}
	p := e.p.Main()
	if !git.InGit(filepath.Dir(b.File)) {
		return nil, refuse(NotFound, "%s is in no repository of git, so no run kept it", b.File)
	}
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	runs, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		return nil, store.Failed(err)
	}
	known := map[string]persistence.Run{}
	for _, r := range project.Current(runs) {
		known[git.UndoRef(string(r.ID))] = r
	}
	tmp := filepath.Join(p.Loops, "tmp")
	if err := disk.MakeFolder(p.Loops, tmp); err != nil {
		return nil, err
	}
	own := filepath.Join(tmp, fmt.Sprintf("blame-%d", time.Now().UnixNano()))
	defer os.RemoveAll(own) //nolint:errcheck // of this call alone
	run := git.Command(undoEnv(p, e.o), GitWait(p))
	failed := func(err error) error {
		return refuse(Failed, "git cannot say where %s has line %d from: %s", b.File, b.Line, humanize.OneLine(err))
	}
	refs, err := git.UndoRuns(ctx, run, filepath.Dir(b.File))
	if err != nil {
		return nil, failed(err)
	}
	at, err := git.NewBlamer(ctx, run, b.File, own)
	if err != nil {
		return nil, failed(err)
	}
	for _, ref := range refs {
		r, ok := known[ref]
		if !ok {
			continue
		}
		_, all, err := e.chain(ctx, r)
		if err != nil {
			return nil, err
		}
		last, found := lastOf(all, p, r, b.File)
		if !found {
			continue
		}
		commit, err := at.Line(ctx, last.Commit, b.Line)
		if err != nil {
			return nil, failed(err)
		}
		for _, s := range all {
			if s.Commit != commit || s.When != git.After {
				continue
			}
			if b.Snapshot, err = merged(ctx, at, all, s, b.Line); err != nil {
				return nil, failed(err)
			}
			b.Run = r
			return b, nil
		}
	}
	return nil, refuse(NotFound, "no step of a recorded run is known to have written line %d of %s: its files "+
		"were not kept, "+
		"or it was written otherwise. Who committed it: git blame -L %d,%d -- %s", b.Line, b.File, b.Line, b.Line,
		b.File)
}

// lastOf returns the snapshot after the last action in the folder that a file is in: a work tree of a branch or
// a sub-loop, or else that of the run. What an undo wrote is what a step wrote before.
func lastOf(all []git.Snapshot, p *project.Project, r persistence.Run, file string) (last git.Snapshot, found bool) {
	dir := p.Dir
	if tree := recordedTree(p, r); tree != nil {
		dir = tree.tree.Dir()
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	for _, s := range slices.Backward(all) {
		if s.Folder != "" && isStep(s) && project.IsIn(file, filepath.Join(dir, s.Folder)) {
			return s, true
		}
	}
	last, err := snapshotAt(all, UndoLast)
	return last, err == nil
}

// merged returns the snapshot of the step that wrote a line which came in with another one: where that merged the work
// trees of branches, it is one of a branch.
func merged(ctx context.Context, at *git.Blamer, all []git.Snapshot, with git.Snapshot, line int) (git.Snapshot,
	error,
) {
	step, _ := fsm.ParseAddress(with.Step)
	last := map[string]git.Snapshot{} // of each folder
	for _, s := range all {
		if of, ok := fsm.ParseAddress(s.Step); ok && s.Folder != "" && s.When == git.After && step.Contains(of) {
			last[s.Folder] = s
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(last)) {
		commit, err := at.Line(ctx, last[folder].Commit, line)
		if err != nil {
			return with, err
		}
		for _, s := range all {
			if s.Commit == commit && s.When == git.After {
				return s, nil
			}
		}
	}
	return with, nil
}

// lineOf reads a line of a file.
func lineOf(file string, n int) (*Blamed, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, refuse(NotFound, "%s", humanize.OneLine(err))
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(b) == 0 {
		lines = nil
	}
	if n > len(lines) {
		return nil, refuse(NotFound, "%s has %s, and no line %d", file, humanize.Count(len(lines), "line"), n)
	}
	return &Blamed{File: file, Line: n, Text: lines[n-1]}, nil
}
