package dirstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// A reader of a running run sees it whole, and never going backwards, however fast the run writes.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, err := dirstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Create(ctx, persistence.Spec{Loop: "x", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	snap := &fsm.Snapshot{
		Loop: "x", Phase: fsm.PhaseActing, Current: "a", Step: 1, Captured: value.NewMap(),
		Context: value.NewMap(),
	}
	step := func(n int) {
		snap.Step = n
		rec := value.NewMap("output", fmt.Sprintf("%0*d", 10+n%3000, n))
		snap.Captured = value.NewMap("c", rec)
		b := &fsm.Batch{Events: []fsm.Event{{Kind: "state_enter", Time: time.Now()}}, Snapshot: snap, Checkpoint: true}
		if err := j.Record(ctx, b); err != nil {
			t.Error(err)
		}
	}
	step(1)
	var done atomic.Bool
	var reads atomic.Int64
	ended := make(chan struct{})
	go func() {
		last := 0
		defer close(ended)
		defer reads.Add(1000) // the writer waits for no more of them
		for !done.Load() {
			runs, err := d.Runs(ctx, persistence.Query{})
			if err != nil || len(runs) != 1 || len(runs[0].Damage) > 0 || runs[0].Step < last {
				t.Errorf("read %d after step %d: %v %+v", reads.Load(), last, err, runs)
				return
			}
			last = runs[0].Step
			reads.Add(1)
		}
	}()
	for n := 2; n < testenv.Some(300, 1500) || reads.Load() < 20; n++ {
		step(n)
	}
	done.Store(true)
	<-ended
	if err := j.Close(ctx); err != nil {
		t.Error(err)
	}
}
