package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/fsm/value"
	"loops/persistence"
)

// What became of a time of a schedule.
const (
	Starting = "starting" // its run is to begin, or has begun
	Waiting  = "waiting"  // its run begins when the one before has ended (overlap: queue)
	Started  = "started"  // its run is on record
	Skipped  = "skipped"  // the run before had not ended (overlap: skip)
	Missed   = "missed"   // no server was running (catch_up: none)
	Failed   = "failed"   // its run could not be started
)

// The lists of the ledger: what is known of schedules by their loops, and the times of one.
const (
	listPlans = "schedules"
	listTimes = "schedule/"
)

// aheadMost is how far a time on record may be ahead of the clock of this machine before that counts as set
// back. Clocks of servers that look after the same schedules may differ by less.
const aheadMost = 10 * time.Minute

// others reports whether the firing is left to the server that has begun it. That server's clock may differ; a
// time that is further away than clocks differ is of a clock that was set back.
func (f Firing) others(now time.Time) bool {
	return now.Before(f.Until) && f.Until.Sub(now) <= pauses[len(pauses)-1]+aheadMost
}

// listOf returns the list of the times of a schedule since its clock was set back for the last time, which is
// the nth time.
func listOf(loop string, n int) string {
	if n == 0 {
		return listTimes + loop
	}
	return fmt.Sprintf("schedule.%d/%s", n, loop)
}

const (
	mostWaiting = 100          // times of one schedule that wait for the run before
	kept        = 100          // times of one schedule that stay on record
	keyLayout   = time.RFC3339 // of a time in UTC: its order is that of the texts
)

// pauses are how long a time is left to the server that has begun to start its run, after so many attempts that failed.
// When all have, it failed.
var pauses = []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute}

// A Firing is one time of a schedule, as it is on record.
type Firing struct {
	Loop   string         `json:"loop,omitempty"`
	At     time.Time      `json:"at"`
	State  string         `json:"state"`
	Run    persistence.ID `json:"run,omitempty"`
	Why    string         `json:"why,omitempty"`
	Missed int            `json:"missed,omitempty"` // times before it that were not recorded
	Over   bool           `json:"over,omitempty"`   // it was missed, and is not made up for because of catch_up_limit

	CatchUp bool      `json:"catch_up,omitempty"` // it was missed, and is made up for
	Tries   int       `json:"tries,omitempty"`    // that failed
	Until   time.Time `json:"until,omitzero"`     // until when the server that tried last may be at it

	// Of what is no time of a schedule, but was asked for from outside, as a webhook does; see Take.
	Source string     `json:"source,omitempty"` // what the record of the run says has it started
	Values *value.Map `json:"values,omitempty"` // its context
	Input  *string    `json:"input,omitempty"`

	entry persistence.Entry
}

// Latest returns the time that shows best how a schedule does: the newest whose run was started, missed or
// could not be started, or whose start has failed up to now. Times that were skipped meanwhile say less.
// Without one it is the newest time; ok is false if there is none.
func Latest(times []Firing) (f Firing, ok bool) {
	if len(times) == 0 {
		return f, false
	}
	for i, f := range slices.Backward(times) {
		switch f.State {
		case Started, Missed, Failed:
			return withOver(times, i), true
		case Starting:
			if f.Tries > 0 {
				return withOver(times, i), true
			}
		}
	}
	return withOver(times, len(times)-1), true
}

// withOver returns a time with the count of those that were missed together with it and are not made up for
// because of catch_up_limit.
func withOver(times []Firing, i int) Firing {
	f := times[i]
	for j := i - 1; f.CatchUp && j >= 0; j-- {
		if times[j].Over {
			f.Missed += times[j].Missed + 1
		}
		if !times[j].CatchUp {
			break
		}
	}
	return f
}

// catchUpText says that a time which was missed has a run; "" = it was not missed.
func (f Firing) catchUpText() string {
	if f.CatchUp {
		return "made up for"
	}
	return ""
}

// By is what the record of the run says has it started.
func (f Firing) By() string {
	if f.Source != "" {
		return f.Source
	}
	return By + f.At.UTC().Format(keyLayout)
}

// By is how the records of runs begin that a schedule has started, see [engine.StartedBy].
const By = "schedule "

// ByHand is what the record of a run says that a user had a schedule start at once.
const ByHand = By + "by hand"

// A ScheduleState is what is known of a schedule.
type ScheduleState struct {
	Spec   string         `json:"spec"`             // the line and the zone that it had
	Since  time.Time      `json:"since"`            // times up to this one are not ours
	Paused *SchedulePause `json:"paused,omitempty"` // nil = it is not

	// Of a clock that was ahead: its times from then on are in a list of their own.
	Setbacks int `json:"setbacks,omitempty"` // how often it was set back
	// the newest time that was on record when it was set back for the last time
	Ahead time.Time `json:"ahead,omitzero"`

	entry persistence.Entry
}

// A SchedulePause says that a schedule does not fire.
type SchedulePause struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
}

func entryOf(list, key string, open bool, at time.Time, body any) persistence.Entry {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts, numbers and times always can be
	}
	return persistence.Entry{List: list, Key: key, Open: open, Added: at.UTC().Truncate(time.Millisecond), Body: b}
}

func (s ScheduleState) changed() persistence.Entry {
	e := entryOf(listPlans, s.entry.Key, true, s.entry.Added, s)
	e.Rev = s.entry.Rev
	return e
}

// ScheduleStateOf returns what is known of the schedule of a loop.
func ScheduleStateOf(ctx context.Context, l persistence.Ledger, loop string) (s ScheduleState, found bool, err error) {
	all, err := l.Entries(ctx, listPlans, loop)
	if err != nil || len(all) == 0 {
		return s, false, err
	}
	s.entry = all[0]
	if err := json.Unmarshal(all[0].Body, &s); err != nil {
		return s, false, fmt.Errorf("what is known of it is damaged: %w", err)
	}
	return s, true, nil
}

// Times returns what is on record of the times of a schedule, oldest first. Those that were recorded by a clock
// that was ahead, and are done, are left out.
func Times(ctx context.Context, l persistence.Ledger, loop string) (times []Firing, err error) {
	s, _, err := ScheduleStateOf(ctx, l, loop)
	if err != nil {
		return nil, err
	}
	return s.times(ctx, l, loop)
}

func (s ScheduleState) times(ctx context.Context, l persistence.Ledger, loop string) (times []Firing, err error) {
	if s.Setbacks > 0 {
		before, err := firings(ctx, l, listOf(loop, s.Setbacks-1))
		if err != nil {
			return nil, err
		}
		times = slices.DeleteFunc(before, func(f Firing) bool { return f.At.After(s.Since) && !f.entry.Open })
	}
	since, err := firings(ctx, l, listOf(loop, s.Setbacks))
	times = append(times, since...)
	for i := range times {
		times[i].Loop = loop
	}
	return times, err
}

// newest returns the newest time that counts as decided.
func (s ScheduleState) newest(times []Firing) time.Time {
	newest := s.Since
	for _, f := range times {
		if f.entry.List == listOf(f.Loop, s.Setbacks) && f.At.After(newest) {
			newest = f.At
		}
	}
	return newest
}

// ahead returns the newest time on record that is later than now, beyond what clocks differ by; zero if none is.
func (s ScheduleState) ahead(times []Firing, now time.Time) time.Time {
	at := s.newest(times)
	if s.Ahead.After(at) {
		at = s.Ahead
	}
	if at.Sub(now) <= onTime {
		return time.Time{}
	}
	return at
}

// SetPaused has a schedule fire no more, or again: by a user, until it is taken back. It is durable on return,
// and reports whether that was different before. Times that pass meanwhile are not made up for.
func (c *Clock) SetPaused(ctx context.Context, p Plan, paused bool, by string) (changed bool, err error) {
	for {
		s, err := c.state(ctx, p)
		if err != nil || (s.Paused != nil) == paused {
			return false, err
		}
		now := c.now().UTC()
		if s.Paused, s.Since = nil, now; paused {
			s.Paused = &SchedulePause{At: now, By: by}
		}
		if s.entry.Rev == 0 { // it was added just now
			continue
		}
		if _, err = c.Ledger.Change(ctx, s.changed()); !errors.Is(err, persistence.ErrChanged) {
			return err == nil, err
		}
	}
}
