package trigger

import (
	"fmt"
	"slices"
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

// CatchUpText returns what a schedule does about missed times, after a comma; "" = nothing.
func CatchUpText(s *fsm.Schedule) string {
	switch s.CatchUp {
	case "one":
		return ", catches up with one run"
	case "all":
		return fmt.Sprintf(", catches up with a run for each time, %d at most", s.CatchUpLimit)
	}
	return ""
}

// Next returns the first time after another one; zero if none comes.
func (p Plan) Next(after time.Time) time.Time { return p.times.Next(after.In(p.zone)) }

// scheduledAt returns the time of a firing in the zone of the schedule, RFC 3339; "" = it is no time of a schedule.
func (p Plan) scheduledAt(f Firing) string {
	if f.Source != "" {
		return ""
	}
	return f.At.In(p.zone).Format(time.RFC3339)
}

// due returns the n newest times after through and up to now, oldest first, and how many come before them: at
// most mostCounted.
func (p Plan) due(through, now time.Time, n int) (newest []time.Time, before int) {
	add := func(at time.Time) {
		if newest = append(newest, at); len(newest) > n {
			newest = slices.Delete(newest, 0, 1)
			before++
		}
	}
	for at := p.Next(through); !at.IsZero() && !at.After(now) && before <= mostCounted; at = p.Next(at) {
		add(at)
	}
	if before <= mostCounted {
		return newest, before
	}
	for _, back := range []time.Duration{
		time.Minute, time.Hour, 24 * time.Hour, 32 * 24 * time.Hour,
		366 * 24 * time.Hour,
	} {
		newest = newest[:0]
		for at := p.Next(later(through, now.Add(-back))); !at.IsZero() && !at.After(now); at = p.Next(at) {
			add(at)
		}
		if len(newest) == n {
			break
		}
	}
	return newest, mostCounted
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// An unfinished says what is still to be done for the times of a schedule that are on record.
type unfinished struct {
	busy     string // what the run before is doing; "" = there is none, or it has ended
	waiting  int    // times that wait for it
	catchUps int    // missed times whose runs have not begun
}

// decide returns what happens to the next time after through and up to now; ok is false if there is none. With
// catch_up: all that is the oldest one that is to have a run, or first the newest of those that are beyond the
// limit. Otherwise it is the newest one. It stands for the times before it that no server recorded, too.
func (p Plan) decide(through, now time.Time, u unfinished) (f Firing, ok bool) {
	if p.Schedule.CatchUp == "all" {
		return p.decideAll(through, now, u)
	}
	newest, before := p.due(through, now, 1)
	if len(newest) == 0 {
		return f, false
	}
	f = Firing{Loop: p.Loop, At: newest[0].UTC(), State: Starting, Missed: before}
	late := now.Sub(newest[0]) > onTime
	switch {
	case late && p.Schedule.CatchUp != "one":
		f.State, f.Why = Missed, "no server was running, and catch_up is none"
	default:
		f.CatchUp = late
		p.queue(&f, u)
	}
	return f, true
}

// decideAll is decide of a schedule with catch_up: all.
func (p Plan) decideAll(through, now time.Time, u unfinished) (f Firing, ok bool) {
	due, before := p.due(through, now, mostWaiting+2) // so that what is before these is beyond the limit
	if len(due) == 0 {
		return f, false
	}
	missed := len(due)
	if now.Sub(due[missed-1]) <= onTime {
		missed--
	}
	limit := min(p.Schedule.CatchUpLimit-u.catchUps, mostWaiting-u.waiting)
	if over := missed - max(0, limit); over > 0 {
		f = Firing{
			Loop: p.Loop, At: due[over-1].UTC(), State: Missed, Missed: min(before+over-1, mostCounted),
			Over: true,
		}
		f.Why = fmt.Sprintf("no server was running, and catch_up_limit is %d", p.Schedule.CatchUpLimit)
		return f, true
	}
	f = Firing{Loop: p.Loop, At: due[0].UTC(), State: Starting, CatchUp: missed > 0}
	p.queue(&f, u)
	return f, true
}

// queue has a time wait for the run before, or leaves it out, if that run has not ended. With catch_up: all
// missed times wait whatever overlap says, and those that come meanwhile wait for these.
func (p Plan) queue(f *Firing, u unfinished) {
	all := p.Schedule.CatchUp == "all" && (f.CatchUp || u.catchUps > 0)
	switch {
	case u.busy == "":
		f.Why = f.catchUpText()
	case p.Schedule.Overlap != "queue" && !all:
		f.State, f.Why = Skipped, u.busy
	case u.waiting >= mostWaiting:
		f.State, f.Why = Skipped, fmt.Sprintf("%s, and %d times wait for it", u.busy, u.waiting)
	default:
		f.State, f.Why = Waiting, u.busy
	}
}
