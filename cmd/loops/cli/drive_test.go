package cli

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"loops/fsm"
	"loops/persistence"
)

// TestNotRecorded: what is said of a run that could not be recorded depends on what is left of it.
func TestNotRecorded(t *testing.T) {
	noRoom := &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	removed := &fs.PathError{Op: "write", Path: "f", Err: persistence.ErrRemoved}
	store := persistence.NewMemory()
	j, err := store.Create(t.Context(), persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Record(t.Context(), &fsm.Batch{Snapshot: &fsm.Snapshot{Loop: "fix", Current: "a"}, Checkpoint: true}); err != nil {
		t.Fatal(err)
	}
	there, gone := j.Run(), persistence.Run{ID: "fix-20200101T000000", Loop: "fix"}
	for _, c := range []struct {
		name string
		run  persistence.Run
		err  error
		want string
	}{
		{"no room for the next step", there, noRoom, "Nothing recorded before is lost. Free or mend the disk, then: loops resume " + string(there.ID)},
		{"no room for the first step", gone, noRoom, "Nothing of it is on record, so it cannot be resumed. Free or mend the disk, then start anew with: loops run fix"},
		{"an action removed .loops", gone, removed, "Its records were removed, so it cannot be resumed. Keep actions away from .loops, then start anew with: loops run fix"},
		{"an action removed the events", there, removed, "The history of the run is lost, but not what it remembers. Keep actions away from .loops, then: loops resume " + string(there.ID)},
	} {
		err := (&app{}).notRecorded(t.Context(), records{Store: store, files: true}, c.run, c.err)
		exit, ok := errors.AsType[exitError](err)
		if _, what, _ := strings.Cut(err.Error(), "\n"); !ok || exit.code != exitRecord || what != c.want {
			t.Errorf("%s: exit code %d, %s\nwant %s", c.name, exit.code, what, c.want)
		}
	}
}
