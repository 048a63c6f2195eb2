package fsm

import (
	"context"
	"time"
)

// A Purse limits what several runs spend together. Its methods may be called by several goroutines at once.
type Purse interface {
	// Full returns why no prompt and no judge may begin now, and until when at least. The time is zero, or
	// past, where one may.
	Full(ctx context.Context) (why string, until time.Time)
	// Spent notes what a prompt or a judge cost, in US dollars. An error means that it does not count.
	Spent(usd float64) error
}

// awaitPurse waits as long as nothing may be spent. The clock of the run is paused. It reports false if the run was
// stopped meanwhile.
func (e *Executor) awaitPurse(st *State) bool {
	return e.cfg.Purse == nil || e.awaitRoom(st, WaitSpend, "", e.full)
}

// awaitRoom waits as long as full returns a time that is still to come. It reports false if the run was stopped
// meanwhile.
func (e *Executor) awaitRoom(st *State, kind, host string, full func() (why string, until time.Time)) bool {
	around := e.mem.Wait
	for said := ""; ; {
		why, until := full()
		d := until.Sub(e.wall())
		if d <= 0 {
			return true
		}
		e.plan(kind, "", st.Name, d+time.Millisecond)
		e.mem.Wait.What, e.mem.Wait.Host = why, host
		if !e.mem.Flushing && e.loopTimeout() != pass {
			return false
		}
		if why != said {
			said = why
			e.announceWait(why)
		}
		start := e.stopClock()
		e.sleepUntil(e.loopUp, func() bool {
			_, until := full()
			return !until.After(e.wall())
		})
		start()
		if e.halts() {
			return false // the wait stays on record
		}
		e.mem.Wait = around
		if e.woken {
			e.woken = false
			return true
		}
	}
}

// full returns why nothing may be spent, and until when at least.
func (e *Executor) full() (why string, until time.Time) {
	e.do(func(ctx context.Context) { why, until = e.cfg.Purse.Full(ctx) })
	return why, until
}

// pay notes what was spent.
func (e *Executor) pay(s Spent) {
	if e.cfg.Purse == nil || s.CostUSD <= 0 {
		return
	}
	if err := e.cfg.Purse.Spent(s.CostUSD); err != nil {
		e.emit(EventWarning, Field{"state", e.mem.Current},
			Field{"message", "the limits on spending do not count what this cost: " + err.Error()})
	}
}
