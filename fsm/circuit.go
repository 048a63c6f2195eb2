package fsm

import (
	"context"
	"time"
)

// A Circuit tells the runs of a project of each other's rate limits. Its methods may be called by several runs at once.
type Circuit interface {
	// Limited notes that a host refused, and that nobody should ask before until. An error means that others do not
	// learn of it; the run goes on.
	Limited(until time.Time) error
	// Recovery returns until when nobody should ask; the zero time, or one that is past, if a host may be asked.
	Recovery() time.Time
}

// awaitCircuit waits as long as other runs are refused, at most as long as the state waits for a rate limit of its own.
// It reports false if the run was stopped, or its time was up, meanwhile.
func (e *Executor) awaitCircuit(ctx context.Context, st *State) bool {
	if e.woken || e.cfg.Circuit == nil {
		e.woken = false
		return true
	}
	for since := wall(); ; {
		until := e.cfg.Circuit.Recovery().Round(0).UTC()
		if most := since.Add(st.RateLimitMaxWait); until.After(most) {
			until = most
		}
		d := until.Sub(wall())
		if d <= 0 {
			return true
		}
		e.plan(WaitCircuit, "", st.Name, d+time.Millisecond)
		e.announceWait("another run of this project was refused for its rate")
		e.sleep(ctx)
		e.mem.Wait = nil
		switch {
		case e.broken != nil || ctx.Err() != nil:
			return false
		case e.woken:
			e.woken = false
			return true
		case !e.mem.Flushing && e.loopTimeout(ctx) != pass:
			return false
		}
	}
}
