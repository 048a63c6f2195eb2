package telemetry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/engine/project"
	"loops/internal/disk"
	"loops/persistence"
)

// TestOnlyOneSends: a process that sends what another one left of a run has the lock of that run, which one
// that resumes the run waits for, and a file that was removed meanwhile is made again.
func TestOnlyOneSends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	const run = persistence.ID("x-20261130T100000")
	x, y := newExporter(p, Settings{}), newExporter(p, Settings{})
	x.mark(run)
	if x.marks[run] == nil || y.lock(run, 0) != nil {
		t.Fatal("two processes send the same run")
	}
	y.Resend()
	if len(y.marks)+len(y.over) > 0 {
		t.Error("what another process sends is sent again")
	}
	got := make(chan *os.File)
	go func() { got <- y.lock(run, time.Hour) }()
	x.over = append(x.over, run)
	x.release(true)
	f := <-got
	if f == nil || disk.Unlinked(f) {
		t.Error("the lock is one of a file that is gone")
	}
	if _, err := os.Stat(filepath.Join(x.unsent(), string(run))); err != nil {
		t.Error(err)
	}
}
