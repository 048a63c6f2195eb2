package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
	"loops/persistence/storetest"
)

// TestNotRecorded: what is said of a run that could not be recorded depends on what is left of it.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	diskFull := &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	removed := &fs.PathError{Op: "write", Path: "f", Err: persistence.ErrRemoved}
	needed := fmt.Errorf("a variable cannot be written to a file: %w", fsm.ErrDiskFull)
	store := storetest.NewMemory()
	j, err := store.Create(t.Context(), persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Record(t.Context(),
		&fsm.Batch{Snapshot: &fsm.Snapshot{Loop: "fix", Current: "a"}, Checkpoint: true}); err != nil {
		t.Fatal(err)
	}
	list, err := store.Create(t.Context(), persistence.Spec{Loop: "list"})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := store.Create(t.Context(), persistence.Spec{Loop: "inside"})
	if err != nil {
		t.Fatal(err)
	}
	items := &fsm.Snapshot{Loop: "list", Current: "b", Step: 2, Items: &fsm.Items{State: "b", Step: 2}}
	for j, memory := range map[persistence.Journal]*fsm.Snapshot{
		list:   items,
		inside: {Loop: "inside", Current: "x", Step: 1, Child: &fsm.Child{Memory: items}},
	} {
		if err := j.Record(t.Context(), &fsm.Batch{Snapshot: memory, Checkpoint: true}); err != nil {
			t.Fatal(err)
		}
	}
	damaged := &fsm.HistoryError{Err: &persistence.DamageError{File: "f", What: "events 1 to 7 are missing"}}
	unread := &fsm.HistoryError{Err: &fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}}
	there, gone := j.Run(), persistence.Run{ID: "fix-20200101T000000", Loop: "fix"}
	for _, c := range []struct {
		name     string
		run      persistence.Run
		err      error
		database bool
		want     string
	}{
		{
			"no room for the next step", there, diskFull, false,
			"Nothing recorded before is lost. Free or repair the disk, then: resume " + string(there.ID),
		},
		{
			"no room for the first step", gone, diskFull, false,
			"It has no record, so it cannot be resumed. Free or repair the disk, then start anew with: run fix",
		},
		{
			"an action removed .loops", gone, removed, false,
			"Its records were removed, so it cannot be resumed. Keep actions away from .loops, then start anew " +
				"with: run fix",
		},
		{
			"an action removed the events", there, removed, false,
			"The history of the run is lost, but not what it remembers. Keep actions away from .loops, " +
				"then: resume " + string(there.ID),
		},
		{
			"the database has no room", there, diskFull, true,
			"Nothing recorded before is lost. Check that the database has free space and can be reached, " +
				"then: resume " + string(there.ID),
		},
		{
			"the events of a list are damaged", list.Run(), damaged, false,
			"Which items of the list in state b have ended is not known any more; all else that the run remembers " +
				"is there. Do the whole list again with: resume " + string(list.Run().ID) + " with from b",
		},
		{
			"the events of a list in a sub-loop are damaged", inside.Run(), damaged, false,
			"Which items of the list inside state x have ended is not known any more; all else that the run " +
				"remembers is there. Begin that state again, with the whole list, with: resume " +
				string(inside.Run().ID) + " with from x",
		},
		{
			"an action removed the events of a list", list.Run(), removed, false,
			"Which items of the list in state b have ended is not known any more; all else that the run remembers " +
				"is there. Keep actions away from .loops. Do the whole list again with: resume " +
				string(list.Run().ID) + " with from b",
		},
		{
			"the events of a list cannot be read now", list.Run(), unread, false,
			"Nothing recorded before is lost. Free or repair the disk, then: resume " + string(list.Run().ID),
		},
		{
			"no room for what an action needs", there, needed, true,
			"Nothing recorded before is lost. Free or repair the disk, then: resume " + string(there.ID),
		},
	} {
		var lost []Notice
		err := notRecorded(t.Context(), &project.Records{Store: store, Files: !c.database}, c.run, c.err,
			func(n Notice) { lost = append(lost, n) })
		refusal, ok := errors.AsType[*Refusal](err)
		if _, what, _ := strings.Cut(err.Error(), "\n"); !ok || refusal.Kind != NotRecorded || what != c.want ||
			len(refusal.Remedies()) != 1 || len(lost) != 1 {
			t.Errorf("%s: %+v, %s, told %d\nwant %s", c.name, refusal, what, len(lost), c.want)
		}
	}
}
