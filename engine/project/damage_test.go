package project_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// Issue 35 §1.15: a damaged event is a fact of its run in every list, from the first look at it until it is
// repaired. The store is a database.
func TestDamageIsMarked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	p, err := project.Open(dir, project.Options{Cwd: dir, Env: []string{}, Store: "sqlite:runs.db"})
	check(t, err)
	r, err := p.Records(ctx, true)
	check(t, err)
	defer r.Close()
	j, err := r.Create(ctx, persistence.Spec{Loop: "fix", StartedAt: time.Now(), Definition: []byte("name: fix\n")})
	check(t, err)
	b := &fsm.Batch{
		Events: []fsm.Event{
			{Kind: "loop_start", Time: time.Now()},
			{Kind: "state_enter", Time: time.Now()},
			{Kind: "loop_complete", Time: time.Now()},
		},
		Snapshot: &fsm.Snapshot{
			Loop: "fix", Current: "done", StartedAt: time.Now(),
			Outcome: &fsm.Outcome{TerminatedBy: fsm.EndTerminal},
		},
	}
	check(t, j.Record(ctx, b))
	id := j.Run().ID
	check(t, j.Close(ctx))
	change := func(text string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
		check(t, err)
		defer db.Close()
		_, err = db.ExecContext(ctx, text)
		check(t, err)
	}
	listed := func() string {
		t.Helper()
		again, err := p.Records(ctx, false) // another process
		check(t, err)
		defer again.Close()
		runs, err := again.Runs(ctx, persistence.Query{})
		check(t, err)
		if len(runs) != 1 {
			t.Fatalf("%d runs", len(runs))
		}
		return strings.Join(runs[0].Damage, "; ")
	}
	change(`UPDATE events SET body = replace(body, 'state_enter', 'state_ente_')`)
	if got := listed(); got != "" {
		t.Errorf("before anyone read the events: %q", got)
	}
	if run := r.CheckEvents(ctx, persistence.Run{ID: id, Step: 5000}); len(run.Damage) != 0 {
		t.Errorf("of a run with many steps: %q", run.Damage)
	}
	run := r.CheckEvents(ctx, persistence.Run{ID: id})
	if len(run.Damage) != 1 || !strings.Contains(run.Damage[0], "event 2 of run "+string(id)) {
		t.Errorf("read whole: %q", run.Damage)
	}
	if got := listed(); got != strings.Join(run.Damage, "; ") {
		t.Errorf("a list has %q, want %q", got, run.Damage)
	}
	change(`UPDATE events SET body = replace(body, 'state_ente_', 'state_enter')`)
	if run := r.CheckEvents(ctx, persistence.Run{ID: id}); len(run.Damage) != 0 {
		t.Errorf("read whole when it is repaired: %q", run.Damage)
	}
	if got := listed(); got != "" {
		t.Errorf("a list has, when it is repaired: %q", got)
	}
	change(`UPDATE events SET body = replace(body, 'state_enter', 'state_ente_')`)
	accepted, err := r.AcceptDamage(ctx, persistence.Run{ID: id})
	check(t, err)
	if len(accepted) != 1 || !strings.Contains(accepted[0], "event 2 of run") {
		t.Errorf("accepted: %q", accepted)
	}
	if run := r.CheckEvents(ctx, persistence.Run{ID: id}); len(run.Damage) != 0 {
		t.Errorf("read whole when it is accepted: %q", run.Damage)
	}
	change(`UPDATE events SET body = replace(body, 'loop_complete', 'loop_c')`)
	if run := r.CheckEvents(ctx, persistence.Run{ID: id}); len(run.Damage) != 1 ||
		!strings.Contains(run.Damage[0], "event 3 of run") {
		t.Errorf("more damage than was accepted: %q", run.Damage)
	}
	if got := listed(); !strings.Contains(got, "event 3 of run") || strings.Contains(got, "event 2") {
		t.Errorf("a list has, of more damage than was accepted: %q", got)
	}
	change(`UPDATE events SET body = replace(replace(body, 'state_ente_', 'state_enter'), 'loop_c"', 'loop_complete"')`)
	check(t, drain(r, id))
	change(`UPDATE events SET body = replace(body, 'state_enter', 'state_ente_')`)
	if run := r.CheckEvents(ctx, persistence.Run{ID: id}); len(run.Damage) != 1 {
		t.Errorf("damaged again after it was repaired: %q", run.Damage)
	}
	check(t, r.Remove(ctx, id))
	if entries, err := r.Ledger().Entries(ctx, "damaged-runs"); err != nil || len(entries) != 0 {
		t.Errorf("of a removed run: %v, %v", entries, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func drain(r *project.Records, id persistence.ID) error {
	for _, err := range r.Events(context.Background(), id, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}
