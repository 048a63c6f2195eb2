package engine

import (
	"context"
	"strconv"

	"loops/fsm"
	"loops/internal/git"
	"loops/persistence"
)

// filesOption is the option of a run that names the tree of git with the files that it begins with.
const filesOption = "files"

// forkFiles returns the snapshot with the files that a fork begins with; the zero one where it takes them as they are.
// Where it works in the same folder as the other run, changes of others there are refused, as Undo does.
func (e *Engine) forkFiles(ctx context.Context, from *forkPlace, r *ForkRequest, tree *runTree) (none git.Snapshot,
	_ error,
) {
	if !r.Files {
		return none, nil
	}
	step, old := strconv.Itoa(from.point.Step), recordedTree(e.p.Main(), from.run)
	switch {
	case tree != nil && tree.tree.Before != string(from.run.ID): // a tree that is made for the fork
		if b := r.Begin; b != nil {
			return git.Snapshot{Step: step, Tree: b.Tree}, nil
		}
		_, all, err := e.chain(ctx, from.run)
		if err != nil {
			return none, err
		}
		shot, err := snapshotAt(all, step)
		if err != nil {
			return none, noSnapshot(from.run.ID, err)
		}
		return shot, nil
	case tree == nil && old != nil:
		return none, refuse(Usage, "run %s worked in a work tree of its own, and its files are not those of this "+
			"checkout; give the new run a tree: %s", from.run.ID, Setting{Name: SetWorktree})
	}
	u, err := e.undoing(ctx, from.run, step)
	if err != nil {
		return none, err
	}
	defer u.walk.Remove() //nolint:errcheck // it is of this process alone
	others, err := u.others(ctx)
	if err != nil {
		return none, u.failed(err)
	}
	if len(others) > 0 {
		return none, u.changed(others)
	}
	return u.to, nil
}

// filesOf returns the tree of git with the files that a run begins with; "" = they are as they are.
func filesOf(r persistence.Run) string {
	v, _ := r.Options.Get(filesOption)
	tree, _ := v.(string)
	return tree
}

// prepare fits fsm.Config.Prepare: after what more makes, a run begins with the files that it was given.
func (s *snapshots) prepare(more func(context.Context) (fsm.Event, error)) func(context.Context) (fsm.Event, error) {
	if s == nil || s.first == "" {
		return more
	}
	return func(ctx context.Context) (ev fsm.Event, err error) {
		if more != nil {
			if ev, err = more(ctx); err != nil {
				return ev, err
			}
		}
		return ev, s.begin(ctx)
	}
}

// begin brings the files to those that the run begins with, and keeps those that were there. A begin that was
// cut short is finished by the next one.
func (s *snapshots) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return &FilesError{err}
	}
	switch s.last("").When {
	case "":
		tree, err := s.tree(ctx, "")
		if err == nil {
			_, err = s.chain.Add(ctx, tree, git.Snapshot{When: git.Found})
		}
		if err != nil {
			return &FilesError{err}
		}
	case git.Found:
	default:
		return nil
	}
	if err := s.walks.of("").Restore(ctx, s.first); err != nil {
		return &FilesError{err}
	}
	if _, err := s.chain.Add(ctx, s.first, git.Snapshot{When: git.Restored}); err != nil {
		return &FilesError{err}
	}
	return nil
}
