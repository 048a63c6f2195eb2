package engine

import (
	"context"
	"strconv"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// CanRetry reports whether a run ended badly in a way that only a new run makes good: Retry of a ForkRequest
// begins that.
func CanRetry(r persistence.Run) bool {
	return r.Status != "" && r.Status != persistence.Completed && r.Status != persistence.Queued && r.Step > 0 &&
		!r.Foreign && !r.Resumable && !r.Carried() && !alive(r)
}

// Again begins a new run from the step that decided how a run ended badly, with the failed items only where
// that was a list of which items failed; no remedy where the run is not one that needs a new run.
func Again(r persistence.Run) Remedy {
	if !CanRetry(r) {
		return Remedy{}
	}
	return AgainAfter(r.ID, r.FailedItems)
}

// retry fills in what a retry leaves open: the step that decided how the run ended, and a work tree of the
// branch that the run worked on. It refuses a run that lives, or that workers carry.
func (e *Engine) retry(ctx context.Context, look *project.Records, run persistence.Run, r *ForkRequest) error {
	id := string(run.ID)
	switch {
	case alive(run):
		return refuse(Conflict, "run %s is running (pid %d), so there is nothing to do again yet; to stop it: %s", id,
			run.Owner.PID, Do(OpStop, id))
	case run.Carried(), run.Status == persistence.Queued:
		return refuse(Conflict, "run %s is continued by workers, so there is nothing to do again yet; to stop it: %s",
			id, Do(OpStop, id))
	}
	if r.At == "" && (!r.RetryFailed || run.FailedItems > 0) { // of a list elsewhere the step is looked for
		step, err := decidingStep(ctx, look, run)
		if err != nil {
			return look.Failed(err)
		}
		r.At = step
	}
	if old := recordedTree(e.p, run); old != nil && old.of == "" && !r.Tree.Asked {
		git, done := Git(e.p, e.o, "", true)
		defer done()
		state, err := old.tree.State(ctx, git)
		if err != nil {
			return TreeError(err)
		}
		r.Tree.Asked, r.Tree.End = true, old.end
		if state.Tip != "" {
			r.Tree.Branch = old.tree.Branch
		}
	}
	return nil
}

// notSubmitted refuses to retry a run on this machine that was submitted: workers are to do it, see SubmitFork.
func (e *Engine) notSubmitted(ctx context.Context, run persistence.ID) error {
	was, _, err := e.Submitted(ctx, string(run))
	if err != nil || was == nil {
		return err
	}
	return refuse(Usage, "run %s was submitted, so workers are to do the step again: %s. To do it on "+
		"this machine: %s", run, Do(OpRetry, string(run)), Do(OpFork, string(run)))
}

// decidingStep returns the step that decided how a run ended, which its reason names; "last" where none is known.
func decidingStep(ctx context.Context, look *project.Records, run persistence.Run) (string, error) {
	lately, err := inspect.Lately(func(each func(fsm.Event) bool) error { return look.Newest(ctx, run.ID, each) })
	if n, _ := lately.Decided(run); err == nil && n > 0 {
		return strconv.Itoa(n), nil
	}
	return lastStep, err
}

// AgainAfter is Again of a run that ended with so many failed items.
func AgainAfter(run persistence.ID, failedItems int) Remedy {
	if failedItems > 0 {
		return Do(OpRetry, string(run), Setting{Name: SetRetryFailed})
	}
	return Do(OpRetry, string(run))
}
