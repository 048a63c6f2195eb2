package sqlstore_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"loops/persistence"
)

// TestDecisionsDoNotEmptyTheLog: a run of 200,000 decisions took 95 s in SQLite, because the log was copied to
// the file, with two syncs, every 40 decisions.
func TestDecisionsDoNotEmptyTheLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.db")
	j := create(t, opened(t, "sqlite:"+file), elsewhere)
	before := begunAnew(t, file)
	for n := range 4000 {
		b := step(n + 2)
		b.Checkpoint = false
		must(t, j.Record(t.Context(), b))
	}
	if n := begunAnew(t, file) - before; n > 8 {
		t.Errorf("the log was begun anew %d times within 4000 decisions", n)
	}
	for n := range 200 {
		must(t, j.Record(t.Context(), step(n+5000)))
	}
	if n := begunAnew(t, file) - before; n < 3 {
		t.Errorf("the log was begun anew %d times, also with checkpoints", n)
	}
	must(t, j.Close(t.Context()))
	if n := whole(t, opened(t, "sqlite:"+file), j.Run().ID); n != 2*4201 || j.Run().Status != persistence.Running {
		t.Errorf("%d events are on record, status %s", n, j.Run().Status)
	}
}

// begunAnew returns how often the log of a database was restarted: the number is in its header.
func begunAnew(t *testing.T, file string) uint32 {
	t.Helper()
	b, err := os.ReadFile(file + "-wal")
	must(t, err)
	return binary.BigEndian.Uint32(b[12:])
}
