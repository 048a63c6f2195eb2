package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/persistence"
	"loops/persistence/archive"
	"loops/reconcile"
)

// RemoveRest is the kind of a change that Reconcile makes and Plan of package reconcile does not: a removal
// that was cut short came to its end.
const RemoveRest reconcile.Kind = "remove"

// RemovedWhy says of a run why there was something to remove.
const RemovedWhy = "its removal was cut short"

// Several are errors of which each is about something else, such as another run. None is nil, and there are at
// least two.
type Several []error

func (s Several) Error() string {
	lines := make([]string, len(s))
	for i, err := range s {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is and errors.As look at each.
func (s Several) Unwrap() []error { return s }

// several returns errors as one: nil where all are, and the error itself where there is one.
func several(errs ...error) error {
	var all Several
	for _, err := range errs {
		if more, ok := err.(Several); ok { //nolint:errorlint // one that is wrapped has words around it
			all = append(all, more...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// PlanReconcile returns what Reconcile would change in the records of runs. It changes nothing.
func (e *Engine) PlanReconcile(ctx context.Context) ([]reconcile.Change, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	return planReconcile(ctx, store)
}

// Reconcile makes the records agree with the processes that run: what a run left running whose owner died is
// ended, and the run is recorded as interrupted; runs that have ended are archived. It returns what was done,
// also where something failed. With ids it does so for those runs alone. Without, it does it for all, and
// finishes what processes that were killed had begun: removals, imports and, if nothing failed, the ends of
// work trees. A run that a live process owns is never touched. Observers are notified by [Reconciled] and
// [TreeEnded].
func (e *Engine) Reconcile(ctx context.Context, ids ...persistence.ID) ([]reconcile.Change, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	changes, err := planReconcile(ctx, store)
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool { return !slices.Contains(ids, c.ID) })
	}
	changes, err = e.apply(ctx, store, changes)
	if err != nil {
		err = store.Failed(err)
	}
	if len(changes) > 0 {
		e.bus.tell(Reconciled{changes})
	}
	if len(ids) > 0 {
		return changes, err
	}
	finished, unfinished := FinishRemovals(ctx, store)
	for _, id := range finished {
		changes = append(changes, reconcile.Change{
			ID: id, Loop: project.LoopOf(string(id)), Kind: RemoveRest,
			Why: RemovedWhy, At: time.Now(),
		})
	}
	if err = several(err, unfinished); err != nil {
		return changes, err
	}
	return changes, FinishTrees(ctx, e.p, e.o, store.Store, func(r TreeReport) { e.bus.tell(TreeEnded{r, true}) })
}

// ChangeText says what reconciling does about a run, or did, and how a run whose owner died is continued.
func ChangeText(c reconcile.Change) Text {
	if c.Kind != reconcile.Interrupt || c.Carried {
		return textf("%s %s: %s", c.Kind, c.ID, c.Why)
	}
	return textf("%s %s: %s; to continue it: %s", c.Kind, c.ID, c.Why, Do(OpResume, string(c.ID)))
}

// atOnce is how many changes are applied between two reports of progress.
const atOnce = 100

// apply applies changes and reports its progress.
func (e *Engine) apply(ctx context.Context, store *project.Records,
	changes []reconcile.Change,
) (done []reconcile.Change, _ error) {
	if len(changes) <= atOnce {
		return reconcile.Apply(ctx, store.Store, changes, ender(ctx, e.p).marked)
	}
	// Those that need a second look wait for it together.
	slices.SortStableFunc(changes, func(a, b reconcile.Change) int {
		switch {
		case a.Unsure == b.Unsure:
			return 0
		case a.Unsure:
			return -1
		}
		return 1
	})
	var errs []error
	for i, n := 0, 0; i < len(changes) && ctx.Err() == nil; i += n {
		e.bus.tell(Progress{i, len(changes)})
		for n = 0; i+n < len(changes) && (n < atOnce || changes[i+n].Unsure); {
			n++
		}
		some, err := reconcile.Apply(ctx, store.Store, changes[i:i+n], ender(ctx, e.p).marked)
		if done = append(done, some...); err != nil {
			errs = append(errs, err)
		}
		if errors.Is(err, persistence.ErrBusy) {
			break // so it is for the others, each after a long wait
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return done, errors.Join(errs...)
}

// PlanUnowned returns what TakeUnowned would change. It changes nothing.
func (e *Engine) PlanUnowned(ctx context.Context) ([]reconcile.Change, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	return planUnowned(ctx, store)
}

// TakeUnowned records those runs as interrupted of which it is not known whether a process runs them, because
// none is recorded, and returns what was done. It is for a user who knows that no process does;
// [Engine.Reconcile] leaves such runs alone.
func (e *Engine) TakeUnowned(ctx context.Context) ([]reconcile.Change, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	changes, err := planUnowned(ctx, store)
	if err != nil {
		return nil, err
	}
	changes, err = reconcile.Apply(ctx, store.Store, changes, ender(ctx, e.p).marked)
	if err != nil {
		err = store.Failed(err)
	}
	if len(changes) > 0 {
		e.bus.tell(Reconciled{changes})
	}
	return changes, err
}

func planUnowned(ctx context.Context, store *project.Records) ([]reconcile.Change, error) {
	runs, err := store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, store.Failed(err)
	}
	return reconcile.PlanUnowned(runs, time.Now()), nil
}

// FinishRemovals finishes what processes that were killed had begun: removals of runs, whose ids it returns,
// and imports.
func FinishRemovals(ctx context.Context, store *project.Records) ([]persistence.ID, error) {
	archive.ForgetDead(ctx, store, store.Project.RunsDir())
	ids, err := store.FinishRemovals(ctx)
	if err = several(err, forgetUndo(ctx, store.Project, ids)); err != nil {
		err = &Refusal{
			Kind: Failed, Err: err,
			Text: textf("what removals that were cut short left is not all gone: %s; remove it by hand, or "+
				"try again: %s", err, Do(OpSweep, "")),
		}
	}
	return ids, err
}

// A Change is what was found out about a run that died, and done.
type Change = reconcile.Change
