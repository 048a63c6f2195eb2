package fsm

import (
	"context"
	"math"
	"time"
)

// cutter ends a prompt or a judge whose time a budget has used up.
var cutter = &Stop{}

// doAsked has f done, which asks an agent, and ends it where a budget leaves no more time for it: then it returns
// the limit that did.
func (e *Executor) doAsked(f func(context.Context)) *overrun {
	x, began := e.start(f), e.now()
	own := &life{above: e.life}
	x.life = own
	for {
		over := func() bool { return x.done || e.timeSpent(began) != nil }
		e.rest(over, func() (time.Duration, bool) { return e.timeLeft(began) })
		if x.done {
			return nil
		}
		e.raiseLimits()
		if limit := e.timeSpent(began); limit != nil {
			own.end(cutter)
			e.rest(func() bool { return x.done }, nil)
			limit.Spent = max(limit.Spent, limit.Most)
			return &overrun{limit: *limit, cut: true}
		}
	}
}

// times yields the limits of time that hold here. What the prompt that began at a time took counts against those
// of states.
func (e *Executor) times(began time.Time, yield func(*limit) bool) {
	e.limits(func(l *limit) bool {
		if l.Name != wallName || !l.stops(needPrompt) {
			return true
		}
		if l.state != "" {
			l.Spent += e.now().Sub(began).Seconds()
		}
		return yield(l)
	})
}

// timeSpent returns the limit of time that is used up while a prompt is running that began at a time; nil = none.
func (e *Executor) timeSpent(began time.Time) (used *limit) {
	e.times(began, func(l *limit) bool {
		if l.Spent >= l.Most {
			used = l
		}
		return used == nil
	})
	return used
}

// timeLeft returns in how long a limit of time is used up.
func (e *Executor) timeLeft(began time.Time) (left time.Duration, limited bool) {
	e.times(began, func(l *limit) bool {
		up := time.Duration(math.Ceil((l.Most - l.Spent) * float64(time.Second)))
		if !limited || up < left {
			left, limited = max(0, up), true
		}
		return true
	})
	return left, limited
}
