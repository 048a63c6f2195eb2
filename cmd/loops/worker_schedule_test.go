package main_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
	"loops/persistence/sqlstore"
)

// TestWorkerSchedules: workers fire schedules without a server: what is due is submitted once, however many look.
func TestWorkerSchedules(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/nightly.yaml", nightlyLoop)
	f.loops("schedule", "fire") // it counts from here on
	store, err := sqlstore.Open(t.Context(), f.store)
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	missNightly(t, store.Ledger(filepath.Base(f.dir)))
	other := f.worker("--queue", "other") // fires none
	f.write(".loops/other.yaml", state("other", "    action: echo other"))
	id := f.submit("other", "--queue", "other", "--no-lock")
	f.until("the worker of another queue carried a run", func() bool {
		return strings.Contains(f.status(id), "completed")
	})
	if got := f.loops("runs"); strings.Contains(got, "nightly") {
		t.Errorf("a worker of another queue fired: %s", got)
	}
	f.worker()
	f.worker()
	f.until("it ran", func() bool { return len(f.lines("ran")) > 0 })
	f.until("the run is completed", func() bool { return f.status("nightly") == "completed" })
	f.until("the time is on record as started", func() bool {
		return strings.Contains(f.loops("schedule", "list"), "nightly")
	})
	if got := f.loops("history", "nightly", "--json", "--jq", "length"); got != "1" {
		t.Errorf("there are %s runs", got)
	}
	if at := f.loops("status", "nightly", "--json", "--jq", ".scheduled_at"); !strings.HasSuffix(at, "T00:00:00Z") {
		t.Errorf("the run is for %q, want midnight", at)
	}
	other.drain()
}

// TestScheduleWhoseWorkerIsKilled: workers that fire the same schedule every two seconds are killed one after
// the other, and no time is lost for long, and none comes twice.
func TestScheduleWhoseWorkerIsKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/often.yaml", `name: often
description: notes when it runs
initial: a
schedule: {cron: "@every 2s", overlap: queue}
states:
  a: {action: 'date +%s >> ran', next: done}
  done: {terminal: true}
`)
	one, two := f.worker(), f.worker()
	for _, w := range []*workerProcess{one, two, f.worker()} {
		n := len(f.lines("ran"))
		f.until("it ran again", func() bool { return len(f.lines("ran")) > n })
		w.kill()
		f.worker()
	}
	n := len(f.lines("ran"))
	f.until("it ran again", func() bool { return len(f.lines("ran")) > n })
	seen := map[string]bool{}
	for _, at := range strings.Fields(f.loops("schedule", "list", "--json", "--jq",
		".[].times[] | select(.state == \"started\") | .at")) {
		if seen[at] {
			t.Errorf("the time %s was fired twice", at)
		}
		seen[at] = true
	}
	if len(seen) < 4 {
		t.Errorf("it was fired %d times", len(seen))
	}
	var last time.Time
	for _, text := range f.lines("ran") {
		seconds, err := strconv.ParseInt(text, 10, 64)
		must(t, err)
		at := time.Unix(seconds, 0)
		if gap := at.Sub(last); !last.IsZero() && gap > testenv.Patience {
			t.Errorf("for %s it did not run", gap)
		}
		last = at
	}
}
