package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine/project"
	"loops/persistence"
)

// A World is what a [Clock] acts on. It is asked by one goroutine at a time.
type World interface {
	// Started reports whether there is a run with this id, and what had it started.
	Started(ctx context.Context, id persistence.ID) (by string, exists bool, err error)
	// Busy returns what a run of a loop is doing that a schedule started and that has not ended; "" = there is none.
	Busy(ctx context.Context, loop string) (string, error)
	// Newest returns the greatest run id of the project; "" = it has no runs.
	Newest(ctx context.Context) (runID string, err error)
	// Queued reports whether the process of a run that is to have this id waits in the queue of the project.
	Queued(id persistence.ID) (bool, error)
	// Begin has the run of a time started, and returns when it is on record, or waits in the queue. After a
	// [*project.UntrustedError] it is not tried again.
	Begin(ctx context.Context, p Plan, f Firing) error
}

// A Clock fires schedules. It is for one goroutine; any number of clocks, in any number of processes, may fire
// the same schedules.
type Clock struct {
	Ledger persistence.Ledger
	World  World
	Now    func() time.Time // nil = [time.Now]
	Tell   func(Firing)     // gets each time that this clock decided, or whose run it started; nil = not called

	// Look is after how long what is open is looked at again; 0 = 5 s.
	Look time.Duration

	// Keep is how long what is done stays on record at least; the last hundred of each list do anyway.
	Keep time.Duration

	seen   map[string]string // the spec that each schedule had here
	signed time.Time         // of the newest sign that is known here
}

func (c *Clock) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// soon is when to look again at what is open.
func (c *Clock) soon() time.Time { return c.now().Add(cmp.Or(c.Look, 5*time.Second)) }

func (c *Clock) tell(f Firing) {
	if c.Tell != nil {
		c.Tell(f)
	}
}

// Tick fires what is due of these schedules, and returns when to call it again, zero if there is nothing to
// come. An error of one schedule does not keep others from firing.
func (c *Clock) Tick(ctx context.Context, plans []Plan) (next time.Time, err error) {
	var errs []error
	for _, p := range plans {
		at, err := c.tick(ctx, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("the schedule of %s: %w", p.Loop, err))
			at = c.soon()
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, errors.Join(errs...)
}

func (c *Clock) tick(ctx context.Context, p Plan) (next time.Time, err error) {
	s, err := c.state(ctx, p)
	if err != nil {
		return next, err
	}
	times, err := s.times(ctx, c.Ledger, p.Loop)
	if err != nil {
		return next, err
	}
	if newest := s.newest(times); newest.Sub(c.now()) > aheadMost {
		if s, err = c.setBack(ctx, p, s, newest); err != nil {
			return next, err
		}
		if times, err = s.times(ctx, c.Ledger, p.Loop); err != nil {
			return next, err
		}
	}
	if s.Paused == nil {
		if times, err = c.record(ctx, p, s, times); err != nil {
			return next, err
		}
	}
	open := false
	for _, f := range times {
		if !f.entry.Open {
			continue
		}
		if open { // one after the other, in the order of their times
			break
		}
		if f.State == Waiting && s.Paused != nil {
			continue
		}
		if open, err = c.pursue(ctx, p, f); err != nil {
			return next, err
		}
	}
	if next = p.Next(c.now()); open && (next.IsZero() || next.After(c.soon())) {
		next = c.soon()
	}
	return next, nil
}

// state returns what is known of a schedule. One that is new, or was changed, counts from now on.
func (c *Clock) state(ctx context.Context, p Plan) (ScheduleState, error) {
	if c.seen == nil {
		c.seen = map[string]string{}
	}
	s, found, err := ScheduleStateOf(ctx, c.Ledger, p.Loop)
	if err != nil {
		return s, err
	}
	seen, known := c.seen[p.Loop]
	c.seen[p.Loop] = p.spec()
	fresh := ScheduleState{Spec: p.spec(), Since: c.now().UTC()}
	switch {
	case !found:
		s, err = fresh, c.Ledger.Add(ctx, entryOf(listPlans, p.Loop, true, c.now(), fresh))
	// two clocks that read different files do not change it to and fro
	case s.Spec != p.spec() && (!known || seen != p.spec()):
		fresh.Paused = s.Paused
		s.Spec, s.Since = fresh.Spec, fresh.Since
		_, err = c.Ledger.Change(ctx, s.changed())
	}
	if errors.Is(err, persistence.ErrTaken) || errors.Is(err, persistence.ErrChanged) {
		s, _, err = ScheduleStateOf(ctx, c.Ledger, p.Loop)
	}
	return s, err
}

// setBack has a schedule continue from now on whose newest time on record is ahead of the clock.
func (c *Clock) setBack(ctx context.Context, p Plan, s ScheduleState, newest time.Time) (ScheduleState, error) {
	s.Setbacks, s.Since, s.Ahead = s.Setbacks+1, c.now().UTC(), newest.UTC()
	_, err := c.Ledger.Change(ctx, s.changed())
	if err == nil || errors.Is(err, persistence.ErrChanged) { // another was faster
		s, _, err = ScheduleStateOf(ctx, c.Ledger, p.Loop)
	}
	return s, err
}

// record puts what is due on record, which decides what happens to it, and returns all times.
func (c *Clock) record(ctx context.Context, p Plan, s ScheduleState, times []Firing) ([]Firing, error) {
	now := c.now()
	if at, _ := p.due(s.newest(times), now, 1); len(at) == 0 {
		return times, nil
	}
	busy, err := c.World.Busy(ctx, p.Loop)
	if err != nil {
		return nil, err
	}
	for {
		f, ok := p.decide(s.newest(times), now, pending(times, busy))
		if !ok {
			return times, nil
		}
		// missed times that wait get the ids of their runs in their turn
		if f.Open() && (f.State != Waiting || !f.CatchUp) {
			if f.Run, err = c.id(ctx, f.Loop, f.At); err != nil {
				return nil, err
			}
		}
		f.entry = entryOf(listOf(p.Loop, s.Setbacks), f.At.Format(keyLayout), f.Open(), now, f)
		f.entry.Last = true
		err = c.Ledger.Add(ctx, f.entry)
		if errors.Is(err, persistence.ErrTaken) { // another was faster
			if times, err = s.times(ctx, c.Ledger, p.Loop); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		f.entry.Rev = 1
		if !f.Open() {
			c.tell(f)
		}
		times = append(times, f)
	}
}

// pending returns what is still to be done for these times. busy is what the run before is doing.
func pending(times []Firing, busy string) unfinished {
	u := unfinished{busy: busy}
	for _, f := range times {
		if !f.entry.Open {
			continue
		}
		u.busy = "the run of " + f.At.Format(keyLayout) + " has not begun"
		if f.State == Waiting {
			u.waiting++
		}
		if f.CatchUp {
			u.catchUps++
		}
	}
	return u
}

// Open reports whether something remains to be done about a time.
func (f Firing) Open() bool { return f.State == Starting || f.State == Waiting }

// id returns the id of a run that is to begin for a time: the first that no run has, behind those of all runs
// of the project.
func (c *Clock) id(ctx context.Context, loop string, at time.Time) (persistence.ID, error) {
	newest, err := c.World.Newest(ctx)
	if err != nil {
		return "", err
	}
	for at = persistence.FirstSecond(at, newest); ; at = at.Add(time.Second) {
		id := persistence.MakeID(loop, at)
		if _, exists, err := c.World.Started(ctx, id); err != nil || !exists {
			return id, err
		}
	}
}

// pursue does what remains to be done about a time, and reports whether something still does.
func (c *Clock) pursue(ctx context.Context, p Plan, f Firing) (open bool, err error) {
	if f.State == Waiting {
		busy, err := c.World.Busy(ctx, p.Loop)
		if err != nil || busy != "" {
			return true, err
		}
		f.State, f.Why = Starting, f.catchUpText()
		if f.Run == "" {
			if f.Run, err = c.id(ctx, f.Loop, f.At); err != nil {
				return true, err
			}
		}
	}
	by, exists, err := c.World.Started(ctx, f.Run)
	if err != nil {
		return true, err
	}
	if exists && by == f.By() {
		return c.close(ctx, f, Started, f.Why)
	}
	if exists { // of a user who started the loop in that very second
		id := c.id
		if f.Source != "" {
			id = c.free
		}
		if f.Run, err = id(ctx, f.Loop, f.At); err != nil {
			return true, err
		}
	}
	if waits, err := c.World.Queued(f.Run); err != nil || waits {
		return true, err
	}
	now := c.now()
	if f.others(now) {
		return true, nil
	}
	f.Until = now.Add(pauses[min(f.Tries, len(pauses)-1)]).UTC()
	if f, err = c.change(ctx, f); err != nil {
		return true, unlessChanged(err)
	}
	failed := c.World.Begin(ctx, p, f)
	if ctx.Err() != nil {
		return true, ctx.Err() // the next server looks the result of it
	}
	by, exists, err = c.World.Started(ctx, f.Run)
	switch {
	case err != nil:
		return true, err
	case exists && by == f.By():
		return c.close(ctx, f, Started, f.Why)
	case failed == nil: // it waits in the queue
		return true, nil
	}
	f.Why = failed.Error()
	_, untrusted := errors.AsType[*project.UntrustedError](failed)
	// of a server that was killed meanwhile it is not known that it failed
	if f.Tries++; untrusted || f.Tries == len(pauses) {
		return c.close(ctx, f, Failed, f.Why)
	}
	_, err = c.change(ctx, f)
	return true, unlessChanged(err)
}

// close puts on record what a time came to in the end.
func (c *Clock) close(ctx context.Context, f Firing, state, why string) (open bool, err error) {
	f.State, f.Why, f.Until = state, why, time.Time{}
	f, err = c.change(ctx, f)
	if err != nil {
		return true, unlessChanged(err)
	}
	c.tell(f)
	if err = c.Ledger.Trim(ctx, f.entry.List, c.now().Add(-c.Keep), kept); err == nil && f.Source != "" {
		err = c.Ledger.Trim(ctx, listIDs, c.now().Add(-c.Keep), kept)
	}
	return false, err
}

func (c *Clock) change(ctx context.Context, f Firing) (Firing, error) {
	e := entryOf(f.entry.List, f.entry.Key, f.Open(), f.entry.Added, f)
	e.Rev = f.entry.Rev
	var err error
	f.entry, err = c.Ledger.Change(ctx, e)
	return f, err
}

// unlessChanged is an error, but none where another process was faster, which is then at it.
func unlessChanged(err error) error {
	if errors.Is(err, persistence.ErrChanged) {
		return nil
	}
	return err
}
