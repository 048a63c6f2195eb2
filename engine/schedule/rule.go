package schedule

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/cron"
	"loops/internal/humanize"
)

// onTime is how late a time may be taken note of without counting as missed.
const onTime = time.Minute

// mostCounted is how many missed times are counted; beyond it, there are "1000 or more".
const mostCounted = 1000

// A Plan is a loop that has a schedule.
type Plan struct {
	Loop     string // its name
	File     string // absolute
	Schedule fsm.Schedule

	times *cron.Times
	zone  *time.Location
}

// NewPlan returns the plan of a loop. The error is that of a schedule that loopfile would not have accepted.
func NewPlan(l *fsm.Loop) (Plan, error) {
	p := Plan{Loop: l.Name, File: l.File, Schedule: *l.Schedule}
	var err error
	if p.times, err = cron.ParseExcept(p.Schedule.Cron, p.Schedule.Except); err == nil {
		p.zone, err = cron.Zone(p.Schedule.Timezone)
	}
	if err != nil {
		err = fmt.Errorf("the schedule of %s: %w", humanize.Quote(l.Name), err)
	}
	return p, err
}

// spec is what makes a schedule another one when it is changed.
func (p Plan) spec() string {
	spec := p.Schedule.Cron + " | " + p.Schedule.Timezone
	if len(p.Schedule.Except) > 0 {
		spec += " | " + strings.Join(p.Schedule.Except, " ")
	}
	return spec
}

// Next returns the first time after another one; zero if none comes.
func (p Plan) Next(after time.Time) time.Time { return p.times.Next(after.In(p.zone)) }

// due returns the newest time after through and up to now, and how many come before it; zero if there is none.
func (p Plan) due(through, now time.Time) (newest time.Time, before int) {
	for at := p.Next(through); !at.IsZero() && !at.After(now) && before <= mostCounted; at = p.Next(at) {
		if !newest.IsZero() {
			before++
		}
		newest = at
	}
	if before <= mostCounted {
		return newest, before
	}
	for _, back := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour} {
		if at := p.Next(now.Add(-back)); !at.IsZero() && !at.After(now) {
			for ; !at.IsZero() && !at.After(now); at = p.Next(at) {
				newest = at
			}
			break
		}
	}
	return newest, mostCounted
}

// decide returns what becomes of the newest time after through and up to now; ok is false where there is none. It
// stands for the times before it, too, that no server recorded. busy is what the run before is doing, waiting how many
// times wait for it.
func (p Plan) decide(through, now time.Time, busy string, waiting int) (f Firing, ok bool) {
	newest, before := p.due(through, now)
	if newest.IsZero() {
		return f, false
	}
	f = Firing{Loop: p.Loop, At: newest.UTC(), State: Starting, Missed: before}
	late := now.Sub(newest) > onTime
	switch {
	case late && p.Schedule.CatchUp != "one":
		f.State, f.Why = Missed, "no server was running, and catch_up is none"
	case busy != "" && p.Schedule.Overlap != "queue":
		f.State, f.Why = Skipped, busy
	case busy != "" && waiting >= mostWaiting:
		f.State, f.Why = Skipped, fmt.Sprintf("%s, and %d times wait for it", busy, waiting)
	case busy != "":
		f.State, f.Why = Waiting, busy
	case late:
		f.Why = "made up for"
	}
	return f, true
}
