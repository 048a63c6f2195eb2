package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// deadRuns leaves records of many runs whose process is gone.
func deadRuns(t *testing.T, e *Engine, n int) {
	t.Helper()
	d, err := dirstore.Open(e.p.Loops)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.Durability = persistence.None
	at := time.Now().Add(-time.Hour)
	for i := range n {
		at := at.Add(time.Duration(i) * time.Second)
		j, err := d.Create(t.Context(), persistence.Spec{
			Loop: "gone", StartedAt: at, Definition: []byte("x"),
			Owner: persistence.Owner{PID: 4194305},
		})
		if err != nil {
			t.Fatal(err)
		}
		snap := &fsm.Snapshot{Loop: "gone", Phase: fsm.PhaseActing, Current: "a", Step: 1, Attempt: 1, StartedAt: at}
		if err := j.Record(t.Context(),
			&fsm.Batch{
				Snapshot: snap, Checkpoint: true,
				Events: []fsm.Event{{Kind: fsm.EventStateEnter, Time: at}},
			}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// reconciled counts the runs that an engine reports as interrupted.
func reconciled(e *Engine) func() int {
	var mu sync.Mutex
	n := 0
	e.Observe(ObserverFunc(func(notice Notice) {
		if r, ok := notice.(Reconciled); ok {
			mu.Lock()
			defer mu.Unlock()
			n += len(r.Changes)
		}
	}))
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// A slowStore does not answer what runs there are until it may.
type slowStore struct {
	*dirstore.Store
	may <-chan struct{}
}

func (s slowStore) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	select {
	case <-s.may:
		return s.Store.Runs(ctx, q)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A run beside many that died begins before these were read, if no process of theirs is left; they are
// interrupted all the same.
func TestManyDeadRunsAreTidiedUpBeside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dead   int
		beside bool
	}{{manyRuns + 1, true}, {manyRuns, false}} {
		t.Run(fmt.Sprint(c.dead), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e := New(newLifeProject(t, ""), Options{})
			deadRuns(t, e, c.dead)
			told := reconciled(e)
			records, err := e.records(ctx, true, "")
			if err != nil {
				t.Fatal(err)
			}
			may, tidied := make(chan struct{}), make(chan struct{})
			slow := *records
			slow.Store = slowStore{records.Store.(*dirstore.Store), may}
			go func() {
				e.tidy(ctx, turn{project: e.p, store: &slow, tell: e.bus.tell})
				close(tidied)
			}()
			if c.beside {
				select {
				case <-tidied:
				case <-ctx.Done():
					t.Fatal("the run waits until the others were read")
				}
			} else {
				select {
				case <-tidied:
					t.Fatal("the run does not wait until the others were read")
				case <-time.After(100 * time.Millisecond):
				}
			}
			close(may)
			<-tidied
			testenv.Within(testenv.Patience, func() bool { return told() >= c.dead }) // Close does not wait long
			e.Close()
			if n := told(); n != c.dead {
				t.Errorf("%d runs were interrupted, want %d", n, c.dead)
			}
			store, err := e.p.Records(ctx, false)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			runs, err := store.Runs(ctx, persistence.Query{Loop: "gone"})
			if err != nil || len(runs) != c.dead {
				t.Fatal(len(runs), err)
			}
			for _, r := range runs {
				if r.Status != persistence.Interrupted || !r.Resumable {
					t.Errorf("%s is recorded as %s", r.ID, r.Status)
				}
			}
		})
	}
}

// What is left of the action of one of many runs that died is ended before a run begins.
func TestWhatOneOfManyDeadRunsLeftIsEndedFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	e := New(newLifeProject(t, ""), Options{})
	dead, left := killedRun(ctx, t, e.p)
	deadRuns(t, e, manyRuns+1)
	records, err := e.records(ctx, true, "")
	if err != nil {
		t.Fatal(err)
	}
	e.tidy(ctx, turn{project: e.p, store: records, tell: e.bus.tell})
	if running(left) {
		t.Error("what the action of a dead run left still runs")
	}
	e.Close()
	if r, _ := recordedAs(ctx, t, e, dead); r.Status != persistence.Interrupted {
		t.Errorf("it is recorded as %s", r.Status)
	}
}
