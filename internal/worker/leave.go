package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/trigger"
	"loops/internal/git"
	"loops/internal/inspect"
	"loops/persistence"
)

// leave decides about a run whose process ended: whether this worker carries it again, and otherwise whether the job is
// over. before is the state of the run when the process began, now its state. err is why no process began.
func (w *worker) leave(ctx context.Context, before, now persistence.Placed, code int, said string,
	err error,
) (again, over bool) {
	id, after := now.Run, context.WithoutCancel(ctx)
	found := func(f persistence.Finding) {
		if err := w.store.Found(after, id, f); err != nil {
			w.trouble(err) // the next who looks finds out again
		}
	}
	note := whyOf(said)
	stand := trigger.StandOf(now)
	switch stand {
	case trigger.Owned:
		return false, true
	case trigger.Over:
		found(persistence.Finding{})
		w.Say("Run %s: %s.", id, now.State.Status)
		w.sayLeft(after, id)
		if w.files != nil {
			w.trouble(w.tidy(after))
		}
		return false, true
	}
	moved := now.State.Status != before.State.Status || now.State.Step != before.State.Step ||
		now.State.Segment != before.State.Segment
	if stand == trigger.Parks || moved && now.State.Status == persistence.Awaiting {
		found(persistence.Finding{Open: true, After: w.wakes(after, id)})
		w.Say("Run %s is parked where it waits.", id)
		return ctx.Err() == nil, true // again if something was asked of it that it may not have heard
	}
	if away, is := errors.AsType[*git.AwayError](err); is { // which is no fault of the run
		w.refused(id, note)
		if away.Refused {
			w.mu.Lock()
			w.refusedAt = time.Now()
			w.mu.Unlock()
			found(w.unfetched(after, now, away))
			return false, true
		}
		found(persistence.Finding{Open: true, After: restOfRemote, Note: note})
		return false, true
	}
	if on := holderOf(note); code == conflicted && on != "" { // nor is a lock
		rest := restOfBlocked
		if on == id { // of the process that had it, which is about to find out that it lost the run
			rest = restOfOwn
		}
		w.blocked(id, on, note)
		found(persistence.Finding{Open: true, After: rest, Note: note})
		return false, true
	}
	switch {
	case ctx.Err() != nil: // drained: others have it at once
		found(persistence.Finding{Open: true})
		return false, false
	case now.State.Limited: // this machine lacks processes or descriptors: another may have them, or this one later
		w.refused(id, now.State.Error)
		found(persistence.Finding{Open: true, After: restOfScarce, Note: now.State.Error})
		return false, true
	case moved:
		w.Say("Run %s: its process ended with code %d before the run did; it continues.", id, code)
		found(persistence.Finding{Open: true})
		return true, false
	case now.State.Status == persistence.Queued: // another worker may have what this one lacks
		w.refused(id, note)
		found(persistence.Finding{Open: true, Again: true, After: min(pause(now.Tries), 5*time.Second), Note: note})
		return false, true
	case now.Tries+1 >= trigger.MaxTries:
		w.refused(id, note)
		w.Say("Run %s made no progress in %d tries, and is left: %s", id, trigger.MaxTries, note)
		found(persistence.Finding{Again: true, Note: note})
		return false, true
	}
	w.refused(id, note)
	found(persistence.Finding{Open: true, Again: true, After: pause(now.Tries), Note: note})
	return false, true
}

// restOfRemote is how long a run rests whose repository cannot be reached, and restOfRefused is it where that
// refuses its login.
const (
	restOfRemote  = 5 * time.Second
	restOfRefused = 5 * time.Minute
)

// unfetched suspends a run whose files cannot be fetched because a login is refused, and returns what is to be
// known of it. People are notified once for all runs that wait for the same.
func (w *worker) unfetched(ctx context.Context, p persistence.Placed, away *git.AwayError) persistence.Finding {
	o, recorded, err := engine.SuspendUnfetched(ctx, w.store, w.project, p.State, away)
	if err != nil {
		w.trouble(err)
		return persistence.Finding{Open: true, After: restOfRemote}
	}
	if w.firstFor(ctx, p, o.SuspendedBy) && w.Suspended != nil {
		w.Suspended(p.State, o, recorded)
	}
	if !recorded {
		return persistence.Finding{Open: true, After: restOfRefused, Note: o.Reason}
	}
	w.Say("Run %s is parked where it waits.", p.Run)
	return persistence.Finding{Open: true, After: w.wakes(ctx, p.Run)}
}

// barred reports whether a submitted run is not begun for now, because the repository of its files refused the login
// of this machine a short time ago, for a run that still waits for it. It waits for the same then, without asking.
func (w *worker) barred(ctx context.Context, p persistence.Placed) bool {
	w.mu.Lock()
	rest := restOfRefused - time.Since(w.refusedAt)
	_, tried := w.notes[p.Run]
	w.mu.Unlock()
	if rest <= 0 || p.State.Status != persistence.Queued || tried && inspect.UnfetchedBy(p.Note) == "" { // unblocked
		return false
	}
	all, err := w.store.Placed(ctx, "", 0)
	if err != nil {
		return false
	}
	for _, other := range all {
		if other.Run == p.Run || other.State.Status != persistence.Queued || inspect.UnfetchedBy(other.Note) == "" {
			continue
		}
		w.refused(p.Run, other.Note)
		if err := w.store.Found(context.WithoutCancel(ctx), p.Run,
			persistence.Finding{Open: true, After: rest, Note: other.Note}); err != nil {
			w.trouble(err)
			return false
		}
		return true
	}
	return false
}

// firstFor reports whether a run is the first of the submitted ones that waits for what a person has to do.
func (w *worker) firstFor(ctx context.Context, p persistence.Placed, by string) bool {
	waits := func(p persistence.Placed) bool {
		return inspect.UnfetchedBy(p.Note) == by || p.State.Status == persistence.Awaiting && p.State.SuspendedBy == by
	}
	if waits(p) {
		return false
	}
	all, err := w.store.Placed(ctx, "", 0)
	w.trouble(err) // one alarm more is better than none
	return !slices.ContainsFunc(all, func(other persistence.Placed) bool { return other.Run != p.Run && waits(other) })
}

// restOfScarce is how long a run rests whose action the machine could not start.
const restOfScarce = 10 * time.Second

// mostNotes is of how many runs a worker remembers what it logged.
const mostNotes = 1000

// refused notes why a run did not begin here. What was logged of a run is not logged again.
func (w *worker) refused(id persistence.ID, note string) {
	if w.news(id, note, note) {
		w.Say("Run %s did not begin here: %s", id, note)
	}
}

// news notes why a run did not begin here, and reports whether that is of another kind than what was noted of
// it before.
func (w *worker) news(id persistence.ID, kind, note string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = "run " + string(id) + ": " + note
	again := w.notes[id] == kind
	if len(w.notes) >= mostNotes {
		clear(w.notes)
	}
	w.notes[id] = kind
	return !again
}

// pause is how long a run rests after so many tries.
func pause(tries int) time.Duration { return min(time.Second<<min(tries, 10), 30*time.Second) }

// wakes is after what time a run that was just parked is to be carried again although nothing was asked of it.
func (w *worker) wakes(ctx context.Context, id persistence.ID) time.Duration {
	m, err := w.store.Snapshot(ctx, id)
	if err != nil {
		return time.Second // carrying it reports what is wrong
	}
	next, _ := engine.Wakes(m, time.Now())
	if next.IsZero() {
		return persistence.Never
	}
	return max(time.Until(next), time.Second)
}

// whyOf is the last message of a process among what it said, without the name of the program and without what
// to do about it.
func whyOf(said string) string {
	why := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "loops: "); ok || why == "" {
			why = text
		}
	}
	if why == "" {
		return "its process was killed"
	}
	return why
}
