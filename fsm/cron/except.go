package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostExcepted is how many dates and ranges of dates a schedule may except.
const mostExcepted = 1000

// A span is the days from one to another, both included, as midnights of UTC.
type span struct{ first, last time.Time }

// has reports whether a time is on one of the days, in its own zone.
func (s span) has(at time.Time) bool {
	year, month, day := at.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return !midnight.Before(s.first) && !midnight.After(s.last)
}

// end returns the last moment of the days, in a zone.
func (s span) end(zone *time.Location) time.Time {
	year, month, day := s.last.Date()
	return time.Date(year, month, day+1, 0, 0, 0, -1, zone)
}

// ParseExcept is Parse with dates at which no time comes: 2026-12-24, or from one to another,
// 2026-12-24..2027-01-01. They are dates in the zone of the time that Next is given.
func ParseExcept(text string, except []string) (*Times, error) {
	t, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(except) > mostExcepted {
		return nil, fmt.Errorf("%d dates are excepted; %d are the most", len(except), mostExcepted)
	}
	for _, entry := range except {
		from, to, ranged := strings.Cut(strings.TrimSpace(entry), "..")
		if !ranged {
			to = from
		}
		first, err := time.Parse(time.DateOnly, strings.TrimSpace(from))
		last, errLast := time.Parse(time.DateOnly, strings.TrimSpace(to))
		switch {
		case err != nil || errLast != nil:
			return nil, fmt.Errorf("%q is no date; write 2026-12-24, or 2026-12-24..2027-01-01", entry)
		case last.Before(first):
			return nil, fmt.Errorf("%q ends before it begins", entry)
		}
		t.except = append(t.except, span{first, last})
	}
	slices.SortFunc(t.except, func(a, b span) int { return a.first.Compare(b.first) })
	return t, nil
}
