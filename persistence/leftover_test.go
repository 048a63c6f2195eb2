package persistence_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
	"loops/persistence"
	"loops/reconcile"
)

// A kill between the last two steps of archiving left the live files of a finished run beside its archive, and
// sweep said that there was nothing to do.
func TestSweepClearsFilesBesideAFinishedArchive(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	d, err := persistence.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Create(ctx, persistence.Spec{Loop: "x", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	end := &fsm.Snapshot{Loop: "x", Phase: fsm.PhasePending, Current: "done", Captured: fsm.NewMap(), Outcome: &fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done"}}
	batch := &fsm.Batch{Events: []fsm.Event{{Kind: "loop_complete", Time: time.Now()}}, Snapshot: end, Checkpoint: true}
	if err := j.Record(ctx, batch); err != nil {
		t.Fatal(err)
	}
	id, live := j.Run().ID, filepath.Join(root, ".running")
	if err := j.Close(ctx); err != nil {
		t.Fatal(err)
	}
	archive, err := filepath.Glob(filepath.Join(root, ".history", "*-x"))
	if err != nil || len(archive) != 1 {
		t.Fatalf("want one archive folder, got %v (%v)", archive, err)
	}
	for from, to := range map[string]string{"events.jsonl": ".events.jsonl", "state.json": ".state.json"} {
		if err := os.Link(filepath.Join(archive[0], from), filepath.Join(live, string(id)+to)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := d.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	done, err := reconcile.Apply(ctx, d, reconcile.Plan(runs, reconcile.Alive, time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(live, "x-*"))
	if len(done) != 1 || done[0].Kind != reconcile.Clean || len(left) != 0 {
		t.Errorf("want one clean change and no live files, got %+v and %v", done, left)
	}
}
