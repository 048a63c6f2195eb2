package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"loops/engine/project"
	"loops/internal/git"
	"loops/persistence"
)

// A RemoveRequest names runs that are to be removed permanently.
type RemoveRequest struct {
	Runs  []string // their ids
	Force bool     // also those that can be resumed
}

// A Removed is a run that is gone, with its events, memory, definition, working folder and logs; or one that would go.
type Removed struct {
	RunEntry
	// a process that died had begun to remove it: only ID and Loop are known
	CutShort bool
	Tree     *TreeReport // the work tree that it leaves, which is never removed with the records; nil = none
}

// ErrNothingRemoved is among the errors of Remove where no run was removed because one of them may not be.
var ErrNothingRemoved = errors.New("nothing was removed")

// A ResumableError means that a run is not removed because it can be resumed.
type ResumableError struct{ Run persistence.Run }

func (e *ResumableError) Error() string {
	return fmt.Sprintf("run %s is %s and can be resumed", e.Run.ID, e.Run.Status)
}

// Remove removes runs and returns those that are gone by it, also where something failed: first those whose
// removal a process that died had begun, then those of the request. Unless every run may be removed, none is,
// and [ErrNothingRemoved] is among the errors: a run that a live process owns is a *persistence.HeldError, one
// that can be resumed a *ResumableError, and one that is not recorded a *project.NoIDError.
func (e *Engine) Remove(ctx context.Context, r RemoveRequest) ([]Removed, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	finished, unfinished := finishRemovals(ctx, store)
	var todo []Removed
	err = untilFree(ctx, endedIn(store), func() (err error) {
		todo, err = removable(ctx, store, r, finished)
		return err
	})
	if err != nil {
		return finished, several(err, unfinished, ErrNothingRemoved)
	}
	if err := measure(ctx, store, entries(todo)); err != nil {
		return finished, several(store.Failed(err), unfinished)
	}
	gone, err := e.remove(ctx, store, todo)
	return append(finished, gone...), several(unfinished, err)
}

// removable returns the runs of a request, or why one of them may not be removed. Those that are gone already are left
// out.
func removable(ctx context.Context, store *project.Records, r RemoveRequest, gone []Removed) (todo []Removed, _ error) {
	f := store.Finder()
	var errs []error
	for _, id := range r.Runs {
		if err := unnamed(id); err != nil {
			return nil, err
		}
		run, err := f.Exactly(ctx, id)
		switch {
		case err != nil && slices.ContainsFunc(gone, func(g Removed) bool { return string(g.ID) == id }):
		case err != nil:
			errs = append(errs, err)
		case alive(run):
			errs = append(errs, &persistence.HeldError{ID: run.ID, Owner: run.Owner})
		case run.Resumable && !r.Force:
			errs = append(errs, &ResumableError{run})
		case !slices.ContainsFunc(todo, func(t Removed) bool { return t.ID == run.ID }):
			todo = append(todo, Removed{RunEntry: entryOf(&run)})
		}
	}
	return todo, several(errs...)
}

// finishRemovals is [FinishRemovals] with what is gone by it.
func finishRemovals(ctx context.Context, store *project.Records) (gone []Removed, _ error) {
	ids, err := FinishRemovals(ctx, store)
	for _, id := range ids {
		gone = append(gone, Removed{RunEntry: RunEntry{ID: id, Loop: project.LoopOf(string(id))}, CutShort: true})
	}
	return gone, err
}

// measure finds out how much room runs take. One that went since it was listed takes none.
func measure(ctx context.Context, store *project.Records, runs []*RunEntry) error {
	ids, listed := make([]persistence.ID, len(runs)), make([]int64, len(runs))
	for i, r := range runs {
		ids[i], listed[i] = r.ID, r.Bytes
	}
	sizes, err := store.Sizes(ctx, ids, listed)
	for i, n := range sizes {
		runs[i].Bytes = n
	}
	return err
}

// entries are those of runs.
func entries(runs []Removed) []*RunEntry {
	all := make([]*RunEntry, len(runs))
	for i := range runs {
		all[i] = &runs[i].RunEntry
	}
	return all
}

// remove removes runs and returns those that are gone by it. One that cannot be removed does not keep the others.
func (e *Engine) remove(ctx context.Context, store *project.Records, todo []Removed) (gone []Removed, _ error) {
	var errs []error
	for i, t := range todo {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		if len(todo) > 1 {
			e.bus.tell(Progress{i, len(todo)})
		}
		err := store.Remove(ctx, t.ID)
		_, remains := errors.AsType[*persistence.RemainsError](err)
		switch {
		case remains:
			errs = append(errs, &Refusal{Kind: Failed, Err: err, Text: textf("%s; remove them by hand", err)})
		case errors.Is(err, persistence.ErrNotFound):
			continue // another process was quicker
		case err != nil:
			errs = append(errs, fmt.Errorf("run %s was not removed: %w", t.ID, err))
			continue
		}
		if tree, left := TreeLeft(context.WithoutCancel(ctx), e.p, e.o,
			persistence.Run{ID: t.ID, Options: t.options}); left {
			t.Tree = &tree
		}
		gone = append(gone, t)
	}
	if err := e.forget(ctx, gone); err != nil {
		errs = append(errs, err)
	}
	return gone, several(errs...)
}

// forget drops the files that were kept of runs that are gone.
func (e *Engine) forget(ctx context.Context, gone []Removed) error {
	if len(gone) == 0 {
		return nil
	}
	ids := make([]persistence.ID, len(gone))
	for i, g := range gone {
		ids[i] = g.ID
	}
	err := forgetUndo(ctx, e.p, ids)
	for _, id := range ids {
		err = several(err, e.p.RemoveOutbox(id))
	}
	if e.o.Forget != nil {
		err = several(err, e.o.Forget(ctx, ids))
	}
	return err
}

// forgetUndo deletes the snapshots of runs that are gone.
func forgetUndo(ctx context.Context, p *project.Project, gone []persistence.ID) error {
	runs := make([]string, len(gone))
	for i, id := range gone {
		runs[i] = string(id)
	}
	return git.ForgetUndo(ctx, git.Command(undoEnv(p, Options{Env: p.Env}), GitWait(p)), p.Dir, runs)
}
