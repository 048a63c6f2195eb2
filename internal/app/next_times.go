package app

import (
	"strconv"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/cron"
	"loops/internal/humanize"
)

// mostTimes is how many times of a schedule are listed at most.
const mostTimes = 1000

// NextTimes is a question for the next times of a schedule.
type NextTimes struct {
	Project func() (*project.Project, error)
	Count   int
	After   string // "" = now
}

// Of returns a loop that has a schedule, and its next times in its time zone; fewer where no more come.
func (q NextTimes) Of(name string, now time.Time) (*fsm.Loop, []time.Time, error) {
	const see = "schedule next"
	if q.Count < 1 || q.Count > mostTimes {
		return nil, nil, engine.Misuse(see, "%s: expected 1 to %d",
			engine.Setting{Name: "count", Value: strconv.Itoa(q.Count)}, mostTimes)
	}
	after := now
	if q.After != "" {
		var err error
		if after, err = Since(engine.Setting{Name: "after", Value: q.After}, see); err != nil {
			return nil, nil, err
		}
	}
	p, err := q.Project()
	if err != nil {
		return nil, nil, err
	}
	lib, err := p.Library()
	if err != nil {
		return nil, nil, err
	}
	path, err := lib.Find(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := lib.Read(path)
	if err != nil {
		return nil, nil, err
	}
	s := f.Loop.Schedule
	if s == nil {
		return nil, nil, engine.Misuse(see, "the loop %s has no schedule; to give it one, write schedule: {cron: "+
			"\"0 3 * * *\"} in %s", humanize.Quote(f.Loop.Name), p.Short(path))
	}
	times, err := cron.ParseExcept(s.Cron, s.Except)
	if err != nil {
		return nil, nil, err
	}
	zone, err := cron.Zone(s.Timezone)
	if err != nil {
		return nil, nil, err
	}
	var all []time.Time
	for at := times.Next(after.In(zone)); !at.IsZero() && len(all) < q.Count; at = times.Next(at) {
		all = append(all, at)
	}
	return f.Loop, all, nil
}
