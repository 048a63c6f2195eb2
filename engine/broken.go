package engine

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// stopped says that a run stopped because it could not be written down, or because its folder was moved, and
// what is left of it.
func (e *Engine) stopped(ctx context.Context, j *job, s *site, run persistence.Run, err error) (Result, error) {
	_, fenced := errors.AsType[*persistence.FencedError](err)
	if m := s.moved(); m != nil && !fenced {
		j.tell(Lost{run, m})
		return e.leftBehind(ctx, j, run, m)
	}
	return Result{}, notRecorded(ctx, j.store, run, err, j.tell)
}

// notRecorded says that a run stopped because it could not be written down, and what remains of it.
func notRecorded(ctx context.Context, store *project.Records, run persistence.Run, err error, tell func(Notice)) error {
	if fenced, ok := errors.AsType[*persistence.FencedError](err); ok {
		return takenOver(run, fenced)
	}
	tell(Lost{run, err})
	where, remedy := ".loops", "Free or repair the disk"
	if !store.Files && !errors.Is(err, fsm.ErrDiskFull) {
		where, remedy = store.Name, "Check that the database has free space and can be reached"
	}
	if _, is := errors.AsType[*FilesError](err); is {
		where, remedy = "its files", "See that their repository can be reached and pushed to"
	}
	if errors.Is(err, syscall.EMFILE) {
		remedy = "Let the program open more files (ulimit -n 256)"
	}
	id := string(run.ID)
	var next Text
	memory, lost := store.Snapshot(ctx, run.ID)
	unlinked, lostTree := errors.AsType[*git.UnlinkedError](err)
	switch {
	case lostTree && unlinked.Repair() != "":
		next = textf("Nothing recorded before is lost, and nothing was done in it since. Repair it: %s. Then: %s",
			unlinked.Repair(), Do(OpResume, id))
	case lostTree:
		next = textf("Nothing recorded before is lost. How to have the work tree again says: %s", Do(OpResume, id))
	case errors.Is(err, fsm.ErrMoved):
		next = textf("Nothing recorded before is lost. Move it back, then: %s", Do(OpResume, id))
	case errors.Is(lost, persistence.ErrNotFound) && !errors.Is(err, persistence.ErrRemoved):
		next = textf("It has no record, so it cannot be resumed. %s, then start anew with: %s", remedy,
			Do(OpRun, run.Loop))
	case errors.Is(lost, persistence.ErrNotFound):
		next = textf("Its records were removed, so it cannot be resumed. Keep actions away from %s, then start "+
			"anew with: %s", where, Do(OpRun, run.Loop))
	case lost == nil && listLost(err, memory):
		at, again := "in", "Do the whole list again"
		if memory.Items == nil || memory.Items != memory.List() {
			at, again = "inside", "Begin that state again, with the whole list,"
		}
		if errors.Is(err, persistence.ErrRemoved) {
			again = "Keep actions away from " + where + ". " + again
		}
		next = textf("Which items of the list %s state %s have ended is not known any more; all else that the run "+
			"remembers is there. %s with: %s",
			at, memory.Current, again, Do(OpResume, id, Setting{SetFrom, memory.Current}))
	case errors.Is(err, persistence.ErrRemoved):
		next = textf("The history of the run is lost, but not what it remembers. Keep actions away from %s, then: %s",
			where, Do(OpResume, id))
	case lost == nil && memory.Outcome != nil:
		next = textf("Its end is on record (%s), but a power failure may undo that. %s, then: %s",
			persistence.StatusOf(*memory.Outcome), remedy, Do(OpStatus, id))
	default:
		next = textf("Nothing recorded before is lost. %s, then: %s", remedy, Do(OpResume, id))
	}
	return &Refusal{
		Kind: NotRecorded, Text: textf("run %s was stopped: %s\n%s", run.ID, humanize.OneLine(err), next),
		Err: err,
	}
}

// listLost reports whether a run is in a list, and what has come of its items is lost with its history.
func listLost(err error, memory *fsm.Snapshot) bool {
	if memory.Outcome != nil {
		return false
	}
	_, history := errors.AsType[*fsm.HistoryError](err)
	_, damaged := errors.AsType[*persistence.DamageError](err)
	return history && damaged || errors.Is(err, persistence.ErrRemoved) && memory.List() != nil
}

// leftBehind says what can be done about a run whose folder was moved.
func (e *Engine) leftBehind(ctx context.Context, j *job, run persistence.Run, m *MovedError) (Result, error) {
	id := string(run.ID)
	if m.to == "" {
		_, lost := j.store.Snapshot(ctx, run.ID)
		return Result{}, refuse(NotRecorded, "run %s was stopped: %s\n%s", id, m, leftSomewhere(id, m, lost == nil))
	}
	there, memory, err := e.foundAgain(ctx, j.project.Main(), run.ID, m)
	recorded := !errors.Is(err, persistence.ErrNotFound)
	at := func(r Remedy) Remedy {
		r.Dir, r.Store = there.Dir, there.Store
		return r
	}
	var next Text
	switch {
	case memory != nil && memory.Outcome != nil:
		return e.endedThere(j, at, *memory.Outcome, m), nil
	case !recorded && m.project != "":
		next = textf("It has no record, so it cannot be resumed. Start anew there with: %s", at(Do(OpRun, run.Loop)))
	case !recorded:
		next = textf("It has no record, so it cannot be resumed. Move the folder back, then start anew with: %s",
			Do(OpRun, run.Loop))
	case m.project != "":
		next = textf("Nothing recorded before is lost. Continue there with: %s", at(Do(OpResume, id)))
	default:
		next = textf("Nothing recorded before is lost. Move the folder back, then: %s", Do(OpResume, id))
	}
	return Result{}, refuse(NotRecorded, "run %s was stopped: %s\n%s", id, m, next)
}

// leftSomewhere is what can be done where it is not known where the folder is. here reports whether the records
// of the run are where they were.
func leftSomewhere(id string, m *MovedError, here bool) Text {
	resume := Do(OpResume, id)
	switch {
	case m.removed && !here:
		return textf("Its records went with it. If it was moved to another disk, resume it there with: %s",
			Remedy{Operation: OpResume, Target: id, Plain: true})
	case m.removed:
		return textf("Nothing recorded before is lost. Put the folder back, or resume where it is now, with: %s",
			resume)
	case m.project != "": // its path leads elsewhere
		return textf("Nothing recorded before is lost. Continue there with: %s",
			Remedy{Operation: OpResume, Target: id, Dir: m.project, Plain: true})
	}
	return textf("Nothing recorded before is lost. Move it back, or resume where it is now, with: %s", resume)
}

// endedThere returns the result of a run that has ended on record, but was moved at that moment.
func (e *Engine) endedThere(j *job, at func(Remedy) Remedy, o fsm.Outcome, m *MovedError) Result {
	id := j.journal.Run().ID
	result := Result{Outcome: o}
	if persistence.StatusOf(o).CanGoOn(o.Retriable()) {
		result.Next = at(Do(OpResume, string(id)))
	}
	j.tell(Ended{id, o, result.Next})
	j.tell(Said{Run: id, Text: textf("%v; that the run has ended is on record there", m), Problem: true})
	return result
}

// foundAgain returns where a project is now, as a remedy names it, and what is on record of the run there.
func (e *Engine) foundAgain(ctx context.Context, p *project.Project, id persistence.ID, m *MovedError) (there Remedy,
	memory *fsm.Snapshot, err error,
) {
	moved := *p
	if m.project != "" {
		there.Dir = m.project
		moved.Dir = m.project
	}
	moved.Loops = m.rebased(p.Loops)
	location, from, err := moved.Location() // a path in the project is where that is now
	if err != nil {
		return there, nil, err
	}
	if path, ok := project.SQLiteFile(location); ok {
		if now := m.rebased(path); now != path {
			location = strings.Replace(location, path, now, 1)
			there.Store = location
		}
	}
	store, err := moved.RecordsAt(ctx, location, from, false)
	if err != nil {
		return there, nil, err
	}
	defer store.Close()
	memory, err = store.Snapshot(ctx, id)
	return there, memory, err
}
