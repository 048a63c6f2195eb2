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
// told, and stays as it is. Where many runs died they are only marked, and moved to the archive beside the run.
func (e *Engine) tidy(ctx context.Context, t turn) {
	changes, err := planReconcile(ctx, t.store)
	var rest func(context.Context) ([]reconcile.Change, error)
	changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool {
		return c.ID == t.leave || c.Unsure // no run waits for what sweep does
	})
	if err == nil && len(changes) > 0 {
		changes, rest, err = reconcile.Begin(ctx, t.store.Store, changes, ender(ctx, t.project))
	}
	t.tidied(changes, err)
	if rest != nil {
		e.beside(func(ctx context.Context) {
			changes, err := rest(ctx)
			if ctx.Err() == nil || len(changes) > 0 {
				t.tidied(changes, err)
			}
		})
	}
	err = FinishTrees(ctx, t.project, e.o, t.store.Store, func(r TreeReport) { t.tell(TreeEnded{r, true}) })
	if err != nil {
		t.tell(Said{Text: textf("a work tree could not be tidied up: %s", err), Problem: true})
	}
}

// tidied tells what was reconciled, and what could not be.
func (t turn) tidied(changes []reconcile.Change, err error) {
	if err != nil {
		t.tell(Said{Text: textf("not tidied up: %s", err), Problem: true})
	}
	if changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool { return c.Told }); len(changes) > 0 {
		t.tell(Reconciled{changes})
	}
}

// besidePatience is how long what is done beside runs may take when the engine is closed. What is left then another run does.
const besidePatience = time.Second

// beside does something beside the runs of this engine, which nobody waits for but Close. It ends soon after ctx does.
func (e *Engine) beside(f func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, func() {
		select {
		case <-done:
		case <-time.After(besidePatience):
		}
		stop()
		<-done
	})
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
	project := sync.OnceValue(p.Mark) // it follows links
	return func(marker string) (int, error) {
		if there, err := marks(); err != nil || !there[project()+marker] {
			return 0, err
		}
		return endMarked(ctx, p, marker)
	}
}
