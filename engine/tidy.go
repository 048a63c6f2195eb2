package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/internal/proc"
	"loops/persistence"
	"loops/reconcile"
)

// tidy reconciles before a run begins, all runs but one. A record that cannot be reconciled is no reason not to run: it is
// told, and stays as it is.
func (e *Engine) tidy(ctx context.Context, t turn) {
	changes, err := planReconcile(ctx, t.store)
	changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool {
		return c.ID == t.leave || c.Unsure // no run waits for what sweep does
	})
	if err == nil && len(changes) > 0 {
		changes, err = reconcile.Apply(ctx, t.store.Store, changes, ender(ctx, t.project))
	}
	if err != nil {
		t.tell(Said{Text: textf("not tidied up: %s", err), Problem: true})
	}
	if len(changes) > 0 {
		t.tell(Reconciled{changes})
	}
	err = FinishTrees(ctx, t.project, e.o, t.store.Store, func(r TreeReport) { t.tell(TreeEnded{r, true}) })
	if err != nil {
		t.tell(Said{Text: textf("a work tree could not be tidied up: %s", err), Problem: true})
	}
}

// planReconcile returns what has to change so that the records agree with the processes that run.
func planReconcile(ctx context.Context, store persistence.Store) ([]reconcile.Change, error) {
	runs, err := store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, err
	}
	return reconcile.Plan(runs, alive, time.Now()), nil
}

// ender returns what ends the processes that actions left, by their marker. It looks once whether there is
// anything: of many runs that died, most left nothing.
func ender(ctx context.Context, p *project.Project) func(marker string) (int, error) {
	marks := sync.OnceValues(func() (map[string]bool, error) { return proc.Marks(action.Variable) })
	return func(marker string) (int, error) {
		if there, err := marks(); err != nil || !there[p.Mark()+marker] {
			return 0, err
		}
		return endMarked(ctx, p, marker)
	}
}
