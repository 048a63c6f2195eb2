// Package reconcile brings what is recorded about runs into agreement with the processes that really live. Plan
// decides and is pure, Apply acts, View is the truth for callers that only look.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/internal/process"
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
	ID   persistence.ID `json:"id"`
	Loop string         `json:"loop"`
	Kind Kind           `json:"kind"`
	Why  string         `json:"why"`
	At   time.Time      `json:"at"` // when it was decided
	// of the action that was in flight, whose processes are ended first
	Marker string `json:"marker,omitempty"`
	// its owner may be alive, out of sight: Apply gives it time to say so
	Unsure bool `json:"-"`
	Later  bool `json:"-"` // it can be recorded now, and moved to the archive later
	// it was recorded before that its owner had died, and is only moved to the archive
	Reported bool `json:"-"`
	Carried  bool `json:"-"` // a worker continues it

	segment int
}

// Plan returns what to do about these runs. It never changes a run that alive reports as live, nor one whose owner
// cannot be determined, nor one whose status could not be read or is unknown, nor one that is queued for workers, nor a
// resumable one that only little-loops has written: that tool would not find it in the archive.
func Plan(runs []persistence.Run, alive func(persistence.Run) bool, now time.Time) []Change {
	var plan []Change
	for _, r := range runs {
		c := Change{ID: r.ID, Loop: r.Loop, At: now}
		switch {
		case r.Archived && !r.Leftover, alive(r), r.Unowned && !r.Archived:
			continue
		case r.Archived && r.Status != "":
			c.Kind, c.Why = Clean, "it is in the archive, but its files are also among the running ones"
			plan = append(plan, c)
			continue
		}
		switch r.Status {
		case persistence.Running:
			c.Kind, c.Why, c.Marker, c.Unsure = Interrupt, "no process owns it", r.Marker, r.Unsure
			c.Later, c.segment, c.Carried = !r.Foreign, r.Segment, r.Carried()
			switch {
			case r.Lapsed:
				c.Why = fmt.Sprintf("its process (%s) was not heard of for longer than its lease", r.Owner)
			case r.Owner.PID != 0:
				c.Why = fmt.Sprintf("its process (pid %d) is gone", r.Owner.PID)
			}
		case persistence.Completed, persistence.Failed, persistence.TimedOut, persistence.Interrupted,
			persistence.Awaiting, persistence.UserStopped:
			if r.Foreign && r.Status.Resumable() {
				continue
			}
			c.Kind, c.Why = Archive, fmt.Sprintf("it has ended (%s)", r.Status)
			c.Reported = r.Status == persistence.Interrupted && !r.Reconciled.IsZero()
		// Starting and Queued, which have not begun; one that could not be read, or that only a newer program knows
		default:
			continue
		}
		plan = append(plan, c)
	}
	return plan
}

// PlanUnowned returns what to do about those of these runs of which it is not known whether they live, for a user who
// knows that they do not: they are interrupted.
func PlanUnowned(runs []persistence.Run, now time.Time) []Change {
	var plan []Change
	for _, r := range runs {
		if r.Unowned && !r.Archived {
			plan = append(plan,
				Change{
					ID: r.ID, Loop: r.Loop, Kind: Interrupt, Why: "no pid is recorded, and --unowned was given",
					At: now, Marker: r.Marker,
				})
		}
	}
	return plan
}

// Apply does what Plan decided, and returns what was done. Before runs are interrupted, end (if not nil) gets the
// environment marker of each action that was in flight, to end the rest of it; a run is left as it is if that
// fails. A run about which the decision does not hold any more is skipped. One change that fails does not stop
// the others; the errors are joined, each with its run.
func Apply(ctx context.Context, store persistence.Store, changes []Change,
	end func(marker string) (int, error),
) ([]Change, error) {
	changes, err := lookTwice(ctx, store, changes)
	if err != nil {
		return nil, err
	}
	todo, about, errs := endAll(ctx, changes, end)
	done, err := outcome(about, store.Tidy(ctx, todo))
	return done, errors.Join(append(errs, err)...)
}

// few is how many changes are applied at once, because that takes no time to speak of.
const few = 16

// Begin is Apply for callers that cannot wait: of many runs that died, and that the store can mark, it ends what is
// left of their actions and marks them, and returns those as done. rest does what remains, and returns what else was
// done; nil = nothing remains.
func Begin(ctx context.Context, store persistence.Store, changes []Change,
	end func(marker string) (int, error),
) (done []Change, rest func(context.Context) ([]Change, error), err error) {
	if len(changes) <= few {
		done, err = Apply(ctx, store, changes, end)
		return done, nil, err
	}
	if changes, err = lookTwice(ctx, store, changes); err != nil {
		return nil, nil, err
	}
	todo, about, errs := endAll(ctx, changes, end)
	var now []persistence.Tidying
	var which []int
	for i, c := range about {
		if c.Later {
			now, which = append(now, todo[i]), append(which, i)
		}
	}
	marks := store.MarkInterrupted(ctx, now)
	if marks == nil {
		done, err = outcome(about, store.Tidy(ctx, todo))
		return done, nil, errors.Join(append(errs, err)...)
	}
	for n, err := range marks {
		if i := which[n]; err == nil {
			done = append(done, about[i])
			about[i].Reported, todo[i].Interrupt = true, false
		} // else Interrupt finds out, and its error is reported
	}
	rest = func(ctx context.Context) ([]Change, error) {
		moved, err := outcome(about, store.Tidy(ctx, todo))
		return slices.DeleteFunc(moved, func(c Change) bool { return c.Reported }), err
	}
	return done, rest, errors.Join(errs...)
}

// endAll ends the rest of the actions of runs that are to be interrupted, and returns what is to be done
// and for which changes: a run is left as it is if that fails.
func endAll(ctx context.Context, changes []Change, end func(marker string) (int, error)) (todo []persistence.Tidying,
	about []Change, errs []error,
) {
	for _, c := range changes {
		if ctx.Err() != nil {
			return todo, about, append(errs, context.Cause(ctx))
		}
		t := persistence.Tidying{ID: c.ID, Interrupt: c.Kind == Interrupt, At: c.At, Why: c.Why, Segment: c.segment}
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
	return todo, about, errs
}

// outcome returns the changes that were made, and what kept others from it. One whose reason is gone is neither.
func outcome(changes []Change, results []error) (done []Change, _ error) {
	var errs []error
	for i, err := range results {
		var held *persistence.HeldError
		switch {
		case err == nil:
			done = append(done, changes[i])
		case errors.Is(err, persistence.ErrNotFound), errors.As(err, &held):
		default:
			errs = append(errs, fmt.Errorf("run %s: %w", changes[i].ID, err))
		}
	}
	return done, errors.Join(errs...)
}

// lookTwice leaves out the runs whose owners renew their leases after all. It waits where there is an unsure change.
func lookTwice(ctx context.Context, store persistence.Store, changes []Change) ([]Change, error) {
	var unsure []persistence.ID
	for _, c := range changes {
		if c.Unsure {
			unsure = append(unsure, c.ID)
		}
	}
	if len(unsure) == 0 {
		return changes, nil
	}
	silent, err := store.SecondLook(ctx, unsure)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return c.Unsure && !slices.Contains(silent, c.ID)
	}), nil
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

// View returns what is true about a run, whatever is recorded: one that says running and is not alive is
// interrupted, unless that cannot be determined.
func View(r persistence.Run, alive bool) persistence.Run {
	if r.Status == persistence.Running && !alive && !r.Unowned {
		r.Status = persistence.Interrupted
		r.Resumable = r.Resumable || !r.Archived
	}
	return r
}

// Alive reports whether the owner of a run lives. It does where it holds the run's lock or lease. Otherwise, of
// a run of ours, a process that can be seen decides, and for one that cannot be seen, that no process holds the
// lock: the kernel keeps the locks of all PID namespaces of a machine. An owner on another machine, whose locks
// may not be seen here, counts as alive unless it let its lease run out. A run of little-loops has no lock: its
// owner lives if a process has the pid and is not known to be another one.
func Alive(r persistence.Run) bool {
	if r.Held {
		return true
	}
	if r.Archived || r.Lapsed {
		return false
	}
	if alive, known := living(r.Owner, r.UpdatedAt); known || r.Foreign {
		return alive || !known
	}
	return Identity(r.Owner).Elsewhere()
}

// OwnerAlive reports whether a process that was recorded at a time may still live; false means that it is known to be
// dead. It fits Liveness of package dirstore.
func OwnerAlive(o persistence.Owner, recorded time.Time) bool {
	alive, known := living(o, recorded)
	return alive || !known
}

func living(o persistence.Owner, recorded time.Time) (alive, known bool) {
	if o.PID <= 0 {
		return false, true
	}
	alive, known = Identity(o).Alive()
	return alive && (o.Start != 0 || recorded.IsZero() || !process.StartedAfter(o.PID, recorded)), known
}

// Identity returns the process that is recorded as an owner.
func Identity(o persistence.Owner) process.Identity {
	return process.Identity{Host: o.Host, Boot: o.Boot, PIDNS: o.PIDNS, PID: o.PID, StartMS: o.Start}
}

// Owner returns a process as it is recorded.
func Owner(id process.Identity) persistence.Owner {
	return persistence.Owner{Host: id.Host, Boot: id.Boot, PIDNS: id.PIDNS, PID: id.PID, Start: id.StartMS}
}

// Sight returns what this process can know of an owner by looking for its pid.
func Sight(o persistence.Owner) persistence.Sight {
	switch id := Identity(o); {
	case id.Visible():
		return persistence.Visible
	case id.Near():
		return persistence.Hidden
	}
	return persistence.Elsewhere
}
