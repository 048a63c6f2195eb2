package inspect

import (
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/persistence"
)

// A Day is how the runs ended that began on one day.
type Day struct {
	Date     string // of the zone that was asked for, 2026-11-21
	Runs     int
	Outcomes map[string]int
}

// WithinDays is how long the steps are, at most, in which times have to be told apart to know the day of each
// in a zone.
func WithinDays(zone *time.Location) time.Duration {
	for month := range 12 {
		if _, offset := time.Date(time.Now().Year(), time.Month(month+1), 1, 0, 0, 0, 0, zone).Zone(); offset%3600 !=
			0 {
			return 15 * time.Minute
		}
	}
	return time.Hour
}

// Days counts runs by the day on which they began, the newest first. counts are of further runs.
func Days(runs []persistence.Run, counts []persistence.Count, zone *time.Location) []Day {
	by := map[string]map[string]int{}
	add := func(began time.Time, outcome string, n int) {
		date := began.In(zone).Format(time.DateOnly)
		if by[date] == nil {
			by[date] = map[string]int{}
		}
		by[date][outcome] += n
	}
	for _, r := range runs {
		add(r.StartedAt, Outcome(r), 1)
	}
	for _, c := range counts {
		r := persistence.Run{Status: c.Status, Ended: c.Ended, Limited: c.Limited}
		if c.Unmerged {
			r.Merge = fsm.MergeRefused
		}
		add(c.Began, Outcome(r), c.Runs)
	}
	var days []Day
	for date, outcomes := range by {
		d := Day{Date: date, Outcomes: outcomes}
		for _, n := range outcomes {
			d.Runs += n
		}
		days = append(days, d)
	}
	slices.SortFunc(days, func(a, b Day) int { return strings.Compare(b.Date, a.Date) })
	return days
}
