// Package reconcile brings what is recorded about runs into agreement with the processes that really live. Plan
// decides and is pure, Apply acts, View is the truth for those who only look.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/internal/proc"
	"loops/persistence"
)

// A Kind is what is done about a run.
type Kind string

// The kinds of change.
const (
	Interrupt Kind = "interrupt" // its owner died: it is recorded as interrupted and archived; it can be resumed
	Archive   Kind = "archive"   // it has ended: it leaves the running ones
	Clean     Kind = "clean"     // it is in the archive, and a crash left files of it behind
)

// A Change is one thing to do about one run.
type Change struct {
	ID     persistence.ID `json:"id"`
	Loop   string         `json:"loop"`
	Kind   Kind           `json:"kind"`
	Why    string         `json:"why"`
	At     time.Time      `json:"at"`               // when it was decided
	Marker string         `json:"marker,omitempty"` // of the action that was in flight, whose processes are ended first
}

// Plan says what to do about these runs. It never changes a run that alive says lives, nor one whose status could not be
// read, nor a resumable one that only the reference tool has written: that tool would not find it in the archive.
func Plan(runs []persistence.Run, alive func(persistence.Run) bool, now time.Time) []Change {
	var plan []Change
	for _, r := range runs {
		c := Change{ID: r.ID, Loop: r.Loop, At: now}
		switch {
		case r.Archived && !r.Leftover, r.Status == "", alive(r):
			continue
		case r.Archived:
			c.Kind, c.Why = Clean, "it is in the archive, but its files are also among the running ones"
		case r.Status == persistence.Running:
			c.Kind, c.Why, c.Marker = Interrupt, "nobody owns it any more", r.Marker
			switch {
			case r.Lapsed:
				c.Why = fmt.Sprintf("its process (%s) was not heard of for longer than its lease", r.Owner)
			case r.Owner.PID != 0:
				c.Why = fmt.Sprintf("its process (pid %d) is gone", r.Owner.PID)
			}
		case r.Foreign && r.Status.Resumable():
			continue
		default:
			c.Kind, c.Why = Archive, fmt.Sprintf("it has ended (%s)", r.Status)
		}
		plan = append(plan, c)
	}
	return plan
}

// Apply does what Plan decided, and returns what was done. Before runs are interrupted, end (if not nil) is told the
// environment marker of each action that was in flight, to end what is left of it; a run is left as it is if that
// fails. A run about which the decision does not hold any more is passed over. One change that fails does not stop
// the others; the errors are joined, each with its run.
func Apply(ctx context.Context, store persistence.Store, changes []Change, end func(marker string) (int, error)) ([]Change, error) {
	var errs []error
	var todo []persistence.Tidying
	var about []Change // todo, as it was planned
	for _, c := range changes {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		t := persistence.Tidying{ID: c.ID, Interrupt: c.Kind == Interrupt, At: c.At, Why: c.Why}
		if t.Interrupt && c.Marker != "" && end != nil {
			n, err := end(c.Marker)
			if err != nil {
				errs = append(errs, fmt.Errorf("run %s: end what is left of its action: %w", c.ID, err))
				continue
			}
			t.Why += ended(n)
		}
		todo, about = append(todo, t), append(about, c)
	}
	var done []Change
	for i, err := range tidy(ctx, store, todo) {
		var held *persistence.HeldError
		switch {
		case err == nil:
			done = append(done, about[i])
		case errors.Is(err, persistence.ErrNotFound), errors.As(err, &held):
		default:
			errs = append(errs, fmt.Errorf("run %s: %w", about[i].ID, err))
		}
	}
	return done, errors.Join(errs...)
}

func ended(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; a process of its action was ended"
	}
	return fmt.Sprintf("; %d processes of its action were ended", n)
}

// tidy returns an error, or nil, for each that was tried: one that means that nobody can is the last.
func tidy(ctx context.Context, store persistence.Store, todo []persistence.Tidying) (errs []error) {
	if many, ok := store.(persistence.Tidier); ok && len(todo) > 0 {
		return many.Tidy(ctx, todo)
	}
	for _, t := range todo {
		var err error
		if t.Interrupt {
			err = store.Interrupt(ctx, t.ID, t.At, t.Why)
		} else {
			err = store.Archive(ctx, t.ID)
		}
		if errs = append(errs, err); errors.Is(err, persistence.ErrBusy) {
			break // so it is for all of them, each after a long wait
		}
	}
	return errs
}

// View returns what is true about a run, whatever is recorded: one that says running and is not alive is interrupted.
func View(r persistence.Run, alive bool) persistence.Run {
	if r.Status == persistence.Running && !alive {
		r.Status = persistence.Interrupted
		r.Resumable = r.Resumable || !r.Archived
	}
	return r
}

// Alive says whether the owner of a run lives: it holds the run's lock, or a process of this machine has the recorded
// pid and is not known to be another one. An owner on another machine, which cannot be asked, counts as alive unless it
// let its lease run out.
func Alive(r persistence.Run) bool {
	return r.Held || !r.Archived && !r.Lapsed && OwnerAlive(r.Owner, r.UpdatedAt)
}

// OwnerAlive says whether a process that was recorded at a time still lives. It fits [persistence.Dir.Liveness].
func OwnerAlive(o persistence.Owner, recorded time.Time) bool {
	if o.PID <= 0 {
		return false
	}
	alive, known := proc.Identity{Host: o.Host, Boot: o.Boot, PID: o.PID, StartMS: o.Start}.Alive()
	if !known {
		return true
	}
	return alive && (o.Start != 0 || recorded.IsZero() || !proc.StartedAfter(o.PID, recorded))
}
