package dirstore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/reconcile"
)

// A kill between the last two steps of archiving left the live files of a finished run beside its archive, and
// sweep said that there was nothing to do.
func TestSweepClearsFilesBesideAFinishedArchive(t *testing.T) {
	t.Parallel()
	ctx, root := context.Background(), t.TempDir()
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Create(ctx, persistence.Spec{Loop: "x", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	end := &fsm.Snapshot{
		Loop: "x", Phase: fsm.PhasePending, Current: "done", Captured: value.NewMap(),
		Outcome: &fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done"},
	}
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

// A user copied the live files of a run by hand, so that many runs said they had one archive folder. A sweep
// built all of them in it at once: most failed, and what was archived could be a mixture.
func TestSweepKeepsCopiesOfARunApart(t *testing.T) {
	t.Parallel()
	ctx, root := context.Background(), t.TempDir()
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	j, err := d.Create(ctx, persistence.Spec{Loop: "x", StartedAt: began, Owner: persistence.Owner{PID: 4194305}})
	if err != nil {
		t.Fatal(err)
	}
	memory := &fsm.Snapshot{Loop: "x", Phase: fsm.PhasePending, Current: "a", Captured: value.NewMap()}
	if err := j.Record(ctx, &fsm.Batch{
		Events: []fsm.Event{{Kind: "loop_start", Time: began}}, Snapshot: memory,
		Checkpoint: true,
	}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close(ctx) }() // it owns the run until then
	live, copies := filepath.Join(root, ".running"), 20
	for i := range copies {
		for _, end := range []string{".events.jsonl", ".state.json"} {
			text, err := os.ReadFile(filepath.Join(live, string(j.Run().ID)+end))
			if err != nil {
				t.Fatal(err)
			}
			name := "x-" + began.Add(time.Duration(i+1)*time.Hour).Format("20060102T150405")
			if err := os.WriteFile(filepath.Join(live, name+end), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, err := d.Runs(ctx, persistence.Query{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	dead := func(persistence.Run) bool { return false }
	plan := reconcile.Plan(runs, dead, began)
	if _, err := reconcile.Apply(ctx, d, plan, nil); err != nil {
		t.Error(err)
	}
	whole, _ := filepath.Glob(filepath.Join(root, ".history", "*-x", "events.jsonl"))
	half, _ := filepath.Glob(filepath.Join(root, ".history", ".*"))
	left, _ := filepath.Glob(filepath.Join(live, "x-*.state.json")) // of the one that was copied, which is held
	if len(runs) != copies+1 || len(whole) != 1 || len(half) != 0 || len(left) != 1 {
		t.Errorf("%d runs of which all copies are equal: archived %v, left %v and %v", len(runs), whole, half, left)
	}
}
