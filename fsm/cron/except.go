package cron

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostExcepted is how many dates and ranges of dates a schedule may except.
const mostExcepted = 1000

// A date is a day in the time zone of a schedule.
type date struct {
	year  int
	month time.Month
	day   int
}

func dateOf(t time.Time) (d date) {
	d.year, d.month, d.day = t.Date()
	return d
}

func (d date) compare(e date) int {
	return cmp.Or(cmp.Compare(d.year, e.year), cmp.Compare(d.month, e.month), cmp.Compare(d.day, e.day))
}

// A span is the dates from one to another, both included.
type span struct{ first, last date }

func (s span) has(t time.Time) bool {
	d := dateOf(t)
	return d.compare(s.first) >= 0 && d.compare(s.last) <= 0
}

// ParseExcept is Parse with dates at which no time comes: 2026-12-24, or from one to another, 2026-12-24..2027-01-01. They
// are dates in the zone of the time that Next is given.
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
		t.except = append(t.except, span{dateOf(first), dateOf(last)})
	}
	slices.SortFunc(t.except, func(a, b span) int { return a.first.compare(b.first) })
	return t, nil
}
