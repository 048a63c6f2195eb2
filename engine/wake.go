package engine

import (
	"context"
	"errors"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// How often a parked run is woken that has to look for what it waits for, at most; and how long before a run
// was parked something may have been sent to it that it did not see.
const (
	wakeEach  = 30 * time.Second
	wakeRaced = 5 * time.Second
)

// A Due is a parked run that is to continue now.
type Due struct {
	Run persistence.Run
	Why string // in a few words
}

// DueRuns returns the parked runs of a project that can continue: the time that they wait for has come, it is
// time to look for what they wait for, or something was sent to them; and the suspended ones whose agent can be
// used again, at once where it is among those that have just answered. A run that is paused is not due, nor one
// that workers are to carry. It reads the memory of each parked run. What cannot be read of one is in the
// error, and the others are returned all the same.
func DueRuns(ctx context.Context, r *project.Records, now time.Time, answered []string) (due []Due, err error) {
	// not all of a large archive is read
	runs, err := r.Runs(ctx,
		persistence.Query{Filter: persistence.Filter{Statuses: []persistence.Status{persistence.Awaiting}}})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, run := range project.Current(runs) {
		if run.Status != persistence.Awaiting || run.Ended != fsm.EndParked && run.Ended != fsm.EndSuspended ||
			run.Held {
			continue
		}
		if workers, err := ForWorkers(ctx, r, run.ID); err != nil || workers {
			if err != nil {
				errs = append(errs, err)
			}
			continue
		}
		why, err := dueNow(ctx, r, run, now, answered)
		if err != nil {
			errs = append(errs, err)
		}
		if why != "" {
			due = append(due, Due{run, why})
		}
	}
	return due, errors.Join(errs...)
}

// ForWorkers reports whether a run is placed with workers, who carry it whenever it can continue.
func ForWorkers(ctx context.Context, r *project.Records, id persistence.ID) (bool, error) {
	s, ok := r.Store.(persistence.Placer)
	if !ok {
		return false, nil
	}
	placed, err := s.Placed(ctx, id, 1)
	return err == nil && len(placed) > 0 && placed[0].Open, err
}

// dueNow explains why a parked run is to continue; "" = it is not.
func dueNow(ctx context.Context, r *project.Records, run persistence.Run, now time.Time, answered []string) (string,
	error,
) {
	back := run.UpdatedAt.Sub(now) > wakeRaced // then it cannot be compared with what was sent since
	commands, err := r.Commands(ctx, run.ID, 0)
	if err != nil {
		return "", err
	}
	if _, paused := persistence.PausedSince(commands, run.Segment); paused {
		return "", nil
	}
	for _, c := range commands {
		if c.At.After(run.UpdatedAt.Add(-wakeRaced)) &&
			(c.Kind == persistence.CommandAnswer || c.Kind == persistence.CommandSignal ||
				c.Kind == persistence.CommandWake) {
			return "something was sent to it: " + string(c.Kind), nil
		}
	}
	if back {
		return "the clock was set back", nil
	}
	memory, err := r.Snapshot(ctx, run.ID)
	if err != nil {
		return "", err
	}
	if run.Ended == fsm.EndSuspended {
		return suspendedDue(r, run, memory, now, answered), nil
	}
	switch at, looks := Wakes(memory, run.UpdatedAt); {
	case at.IsZero() || at.After(now):
		return "", nil
	case looks:
		return "it is time to look", nil
	}
	return "its time has come", nil
}

// Wakes returns the first time at which a run that was parked has something to do, zero for none: of all that
// it waits for, in whatever sub-loops, branches and items. looks reports whether it only looks then, which it
// does half a minute after it was parked at the earliest.
func Wakes(m *fsm.Snapshot, parked time.Time) (at time.Time, looks bool) {
	take := func(t time.Time, look bool) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at, looks = t, look
		}
	}
	if o := m.Outcome; o != nil && o.TerminatedBy == fsm.EndSuspended &&
		(&fsm.Suspension{By: o.SuspendedBy, Cause: o.Cause}).Shared() {
		return parked.Add(probeEach), true
	}
	if a := m.Awaiting; a != nil {
		take(a.Deadline, false)
		take(a.RemindAt, false)
		take(a.EscalateAt, false)
		switch a.Kind {
		case fsm.AwaitFor, fsm.AwaitAt:
			take(a.Until, false)
		case fsm.AwaitAsk, fsm.AwaitEvent:
		default:
			next := parked.Add(wakeEach)
			if a.Next.After(next) {
				next = a.Next
			}
			take(next, true)
		}
	}
	if m.Child != nil {
		take(Wakes(m.Child.Memory, parked))
	}
	for _, b := range m.Branches {
		if b.Child != nil {
			take(Wakes(b.Child.Memory, parked))
		}
	}
	return at, looks
}

// Wake has the runs that are due continued, each by begin, and parked again where they wait. It returns those
// that were, and an error for each of the others.
func Wake(ctx context.Context, due []Due, begin func(ctx context.Context, r Request) error) (woken []Due, err error) {
	var errs []error
	for _, d := range due {
		if ctx.Err() != nil {
			break
		}
		id := string(d.Run.ID)
		if err := begin(ctx, Request{Resume: &ResumeRequest{Run: id, Over: project.Overrides{Park: true}}}); err !=
			nil {
			errs = append(errs, because(Failed, err, "run "+id+" cannot be woken"))
			continue
		}
		woken = append(woken, d)
	}
	return woken, errors.Join(errs...)
}
