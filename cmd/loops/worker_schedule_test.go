package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/persistence/sqlstore"
)

// TestWorkerSchedules: workers fire schedules without a server: what is due is submitted once, whoever looks.
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
	time.Sleep(time.Second)
	if got := f.loops("runs"); !strings.Contains(got, "No runs") {
		t.Errorf("a worker of another queue fired: %s", got)
	}
	f.worker()
	f.worker()
	f.until("it ran", func() bool { return len(f.lines("ran")) > 0 })
	f.until("the run is completed", func() bool { return f.status("nightly") == "completed" })
	f.until("the time is on record as started", func() bool { return strings.Contains(f.loops("schedule", "list"), "nightly") })
	if got := f.loops("history", "nightly", "--json", "--jq", "length"); got != "1" {
		t.Errorf("there are %s runs", got)
	}
	other.drain()
}
