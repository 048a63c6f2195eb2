package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/internal/process"
	"loops/persistence"
	"loops/reconcile"
)

// manyRuns is from how many runs among the running ones on a start does not wait until they were read.
const manyRuns = 64

// tidy reconciles, all runs but one: before the run begins, because the rest of the action of one that died
// might work on the same files. A record that cannot be reconciled is no reason not to run: it is reported, and
// stays as it is. Where many runs died they are only marked, and moved to the archive beside the run; where in
// addition no process of any action of the project is left, all of it is done beside the run.
func (e *Engine) tidy(ctx context.Context, t turn) {
	end := ender(ctx, t.project)
	if t.store.Crowded(manyRuns) && end.nothing() {
		e.beside(func(ctx context.Context) {
			if rest := t.reconcile(ctx, ender(ctx, t.project)); rest != nil {
				rest(ctx)
			}
		})
	} else if rest := t.reconcile(ctx, end); rest != nil {
		e.beside(rest)
	}
	err := FinishTrees(ctx, t.project, e.o, t.store.Store, func(r TreeReport) { t.tell(TreeEnded{r, true}) })
	if err != nil {
		t.tell(Said{Text: textf("a work tree could not be tidied up: %s", err), Problem: true})
	}
}

// reconcile does what cannot wait about all runs but one, and returns what can, if anything.
func (t turn) reconcile(ctx context.Context, end ending) (rest func(context.Context)) {
	changes, err := planReconcile(ctx, t.store)
	changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool {
		return c.ID == t.leave || c.Unsure // no run waits for what sweep does
	})
	var move func(context.Context) ([]reconcile.Change, error)
	if err == nil && len(changes) > 0 {
		changes, move, err = reconcile.Begin(ctx, t.store.Store, changes, end.marked)
	}
	t.tidied(ctx, changes, err)
	if move == nil {
		return nil
	}
	return func(ctx context.Context) {
		changes, err := move(ctx)
		t.tidied(ctx, changes, err)
	}
}

// tidied reports what was reconciled, and what could not be, but not what stays undone because the engine is
// being closed.
func (t turn) tidied(ctx context.Context, changes []reconcile.Change, err error) {
	if err != nil && (ctx.Err() == nil || len(changes) > 0) {
		t.tell(Said{Text: textf("not tidied up: %s", err), Problem: true})
	}
	if changes = slices.DeleteFunc(changes, func(c reconcile.Change) bool { return c.Reported }); len(changes) > 0 {
		t.tell(Reconciled{changes})
	}
}

// besidePatience is how long what is done beside runs may take when the engine is closed. The rest then
// another run does.
const besidePatience = time.Second

// beside does something beside the runs of this engine, which no process waits for but Close. It ends soon
// after ctx does.
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

// An ending ends the processes that actions left, by their marker. It looks once whether there is anything: of
// many runs that died, most left nothing.
type ending struct {
	ctx     context.Context
	project *project.Project
	there   func() (map[string]bool, error)
	mark    func() string
}

func ender(ctx context.Context, p *project.Project) ending {
	return ending{
		ctx, p,
		sync.OnceValues(func() (map[string]bool, error) { return process.Marks(action.Variable) }),
		sync.OnceValue(p.Mark), // it follows links
	}
}

// marked fits reconcile.Apply.
func (e ending) marked(marker string) (int, error) {
	if there, err := e.there(); err != nil || !there[e.mark()+marker] {
		return 0, err
	}
	return endMarked(e.ctx, e.project, marker)
}

// nothing reports whether no process of an action of the project is left, but for those that this process is part of.
func (e ending) nothing() bool {
	there, err := e.there()
	for mark := range there {
		if strings.HasPrefix(mark, e.mark()) {
			return false
		}
	}
	return err == nil
}
