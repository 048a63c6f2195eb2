package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"loops/internal/humanize"
	"loops/persistence"
)

// What fires the schedules of a project leaves a sign in its ledger, so that a project for which nothing does is seen.
const (
	listSigns = "schedule-signs"
	signKey   = "newest"
	signEvery = 5 * time.Minute
	// without a sign, nothing fires schedules whose times come more often than every ten minutes
	quietFor = 30 * time.Minute
)

type sign struct {
	At time.Time `json:"at"`
}

// Sign puts on record that something fires the schedules of the project: at most every five minutes, whatever
// the number of callers.
func (c *Clock) Sign(ctx context.Context) error {
	now := c.now().UTC()
	// a clock that was ahead leaves no sign for long
	fresh := func(at time.Time) bool { return !at.After(now) && now.Sub(at) < signEvery }
	if fresh(c.signed) {
		return nil
	}
	e := entryOf(listSigns, signKey, true, now, sign{now})
	on, at, err := newestSign(ctx, c.Ledger)
	switch {
	case err != nil:
		return err
	case on == nil:
		err = c.Ledger.Add(ctx, e)
	case !fresh(at):
		e.Rev, e.Added = on.Rev, on.Added
		_, err = c.Ledger.Change(ctx, e)
	default:
		now = at
	}
	if errors.Is(err, persistence.ErrTaken) || errors.Is(err, persistence.ErrChanged) {
		err = nil // another was faster
	}
	if err == nil {
		c.signed = now
	}
	return err
}

// newestSign returns when something fired schedules of a project; nil = never. A sign that cannot be read is as
// old as can be.
func newestSign(ctx context.Context, l persistence.Ledger) (on *persistence.Entry, at time.Time, err error) {
	all, err := l.Entries(ctx, listSigns, signKey)
	if err != nil || len(all) == 0 {
		return nil, at, err
	}
	var s sign
	_ = json.Unmarshal(all[0].Body, &s)
	return &all[0], s.At, nil
}

// quiet returns after how long without a sign nothing fires schedules: half an hour, or three intervals of the
// one whose times come most often.
func quiet(all []ListedSchedule, now time.Time) time.Duration {
	var shortest time.Duration
	for _, l := range all {
		first := l.Plan.Next(now)
		second := l.Plan.Next(first)
		if between := second.Sub(first); !first.IsZero() && !second.IsZero() && (shortest == 0 || between < shortest) {
			shortest = between
		}
	}
	return max(quietFor, 3*shortest)
}

// ClockWasAhead returns a sentence about the schedules whose newest time on record is still to come; "" = there
// are none.
func ClockWasAhead(all []ListedSchedule) string {
	for _, l := range all {
		if !l.Ahead.IsZero() {
			return AheadText(l.Loop, l.Ahead)
		}
	}
	return ""
}

// AheadText says that the newest time on record of a schedule is still to come.
func AheadText(loop string, at time.Time) string {
	return fmt.Sprintf("the schedule of %s has a time on record that is still to come, %s: the clock was ahead "+
		"then, or is behind now; set it right", loop, at.UTC().Format(time.RFC3339))
}

// Ahead returns the newest time on record of a schedule that is still to come; zero if none is.
func Ahead(ctx context.Context, l persistence.Ledger, loop string, now time.Time) (time.Time, error) {
	s, _, err := ScheduleStateOf(ctx, l, loop)
	if err != nil {
		return time.Time{}, err
	}
	times, err := s.times(ctx, l, loop)
	return s.ahead(times, now), err
}

// Unattended returns why none of these schedules is going to fire by itself; "" = something looks after them,
// none has a time to come, or all are paused.
func Unattended(all []ListedSchedule, now time.Time) string {
	for _, l := range all {
		if l.Attended || l.Next.IsZero() {
			continue
		}
		since := "none was ever heard of"
		if !l.Heard.IsZero() {
			since = "the last one was heard of " + humanize.Ago(max(0, now.Sub(l.Heard)))
		}
		return "nothing fires schedules of this project, no server, worker or timer: " + since
	}
	return ""
}

// Notice returns what [Unattended] and [ClockWasAhead] do, with what helps: install is a command that has a
// timer fire schedules.
func Notice(all []ListedSchedule, now time.Time, install string) string {
	var why []string
	if text := Unattended(all, now); text != "" {
		why = append(why, text+"; to have a timer fire them: "+install)
	}
	if text := ClockWasAhead(all); text != "" {
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}
