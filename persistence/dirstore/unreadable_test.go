package dirstore

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// A run whose events cannot be read is listed with what its state file says, and is not resumed.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	j.die()
	id, events := j.id, j.files.events
	if err := os.Rename(events, events+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(events, 0o755); err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 || runs[0].State == "" || len(runs[0].Damage) != 1 ||
		!strings.Contains(runs[0].Damage[0], "not a regular file") {
		t.Fatalf("%v, runs %+v", err, runs)
	}
	if _, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"}); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("resume: %v", err)
	}
	if err := d.Interrupt(t.Context(), id, time.Now(), ""); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("interrupt: %v", err)
	}
	if err := os.Remove(events); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(events+".away", events); err != nil {
		t.Fatal(err)
	}
	again, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
