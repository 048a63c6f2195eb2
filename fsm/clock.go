package fsm

import (
	"iter"
	"time"
)

// A clock counts used time: how long a loop ran, in all segments, without pauses. It uses Go's monotonic clock,
// which stops while the machine sleeps.
type clock struct {
	used  time.Duration // before since
	since time.Time     // the clock runs since then; zero = it is stopped
}

// read returns what was used at that time.
func (c *clock) read(now time.Time) time.Duration {
	if c.since.IsZero() {
		return c.used
	}
	return c.used + now.Sub(c.since)
}

// set starts or stops the clock.
func (c *clock) set(running bool, now time.Time) {
	if running == !c.since.IsZero() {
		return
	}
	if c.used, c.since = c.read(now), (time.Time{}); running {
		c.since = now
	}
}

// elapsed returns the used time of the loop.
func (e *Executor) elapsed() time.Duration { return e.clock.read(e.now()) }

// stopClock stops the clock of the loop while it waits for a user or for money, and with it the clocks of the
// loops around it, unless another of their tasks is at work. start ends that.
func (e *Executor) stopClock() (start func()) {
	was := e.stopped
	e.stopped = true
	e.setClocks()
	return func() {
		e.stopped = was
		e.setClocks()
	}
}

// setClocks starts and stops the clocks of the loop and of those around it, by what they do now.
func (e *Executor) setClocks() {
	for x := e; x != nil; x = x.parent {
		x.clock.set(!x.standsStill(), x.now())
	}
}

// standsStill reports whether the clock of the loop is stopped: its own wait stops it, or those of all that it runs do.
func (e *Executor) standsStill() bool {
	switch {
	case e.stopped:
		return true
	case e.below != nil:
		return e.below.standsStill()
	case e.crew == nil || len(e.crew.live) == 0:
		return false
	}
	for _, r := range e.crew.live {
		if !r.x.standsStill() {
			return false
		}
	}
	return true
}

// limiting yields the loops whose timeout holds for this one: itself, and those around it that run it as a
// branch or an item, whose time may be up first, because the clock of a member stands still while others are at
// work. A sub-loop has the rest of the loop around it as its own.
func (e *Executor) limiting() iter.Seq[*Executor] {
	return func(yield func(*Executor) bool) {
		for x, member := e, true; x != nil; x, member = x.parent, x.branch != "" {
			if member && x.cfg.Loop.Timeout > 0 && !yield(x) {
				return
			}
		}
	}
}

// clockOver reports whether the time of the loop itself is up.
func (e *Executor) clockOver() bool {
	limit := e.cfg.Loop.Timeout
	return limit > 0 && e.elapsed() > limit
}

// over reports whether the time of the loop is up, or that of a loop that it is a branch or an item of.
func (e *Executor) over() bool {
	for x := range e.limiting() {
		if x.clockOver() {
			return true
		}
	}
	return false
}

// loopUp returns in how long the time of the loop is up, or that of a loop that it is a branch or an item of. A
// clock that stands still limits nothing.
func (e *Executor) loopUp() (left time.Duration, limited bool) {
	for x := range e.limiting() {
		if up := x.cfg.Loop.Timeout - x.elapsed() + time.Millisecond; !x.clock.since.IsZero() &&
			(!limited || up < left) {
			left, limited = up, true
		}
	}
	return left, limited
}

// A deadline ends a loop, and all that is in flight inside it, once the loop has used its time.
type deadline struct {
	used time.Duration // that the loop may use
	why  *Stop         // the cause that ends it
	late bool          // it has ended it
}

// deadlineLeft returns in how long the deadline of the loop is reached, if it has one and its clock is running.
func (e *Executor) deadlineLeft() (time.Duration, bool) {
	d := e.deadline
	if d == nil || d.late || e.clock.since.IsZero() {
		return 0, false
	}
	return d.used - e.elapsed(), true
}
