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
	changes, err := PlanReconcile(ctx, t.store, t.leave)
	changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool { return c.Unsure }) // no run waits for what sweep does
	if err == nil && len(changes) > 0 {
		changes, err = reconcile.Apply(ctx, t.store.Store, changes, Ender(ctx, t.project))
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

// PlanReconcile returns what has to change so that the records agree with the processes that run, for all runs but one.
func PlanReconcile(ctx context.Context, store persistence.Store, except persistence.ID) ([]reconcile.Change, error) {
	runs, err := store.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		return nil, err
	}
	var changes []reconcile.Change
	for _, c := range reconcile.Plan(runs, alive, time.Now()) {
		if c.ID != except {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// Ender returns what ends the processes that actions left, by their marker. It looks once whether there is anything: of many runs that died, most left nothing.
func Ender(ctx context.Context, p *project.Project) func(marker string) (int, error) {
	marks := sync.OnceValues(func() (map[string]bool, error) { return proc.Marks(action.Variable) })
	return func(marker string) (int, error) {
		if there, err := marks(); err != nil || !there[p.Mark()+marker] {
			return 0, err
		}
		return endMarked(ctx, p, marker)
	}
}
