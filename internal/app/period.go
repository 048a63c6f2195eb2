package app

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence"
)

// A Period is the time that --since and --until choose. A zero time is no limit.
type Period struct{ Since, until time.Time }

// NewPeriod reads when a period begins and ends; the help on see explains how.
func NewPeriod(since, until string, see engine.Operation) (p Period, err error) {
	now, from, to := time.Now(), engine.Setting{Name: "since", Value: since}, engine.Setting{Name: "until", Value: until}
	if since != "" {
		if p.Since, err = parseWhen(from, see, now, false); err != nil {
			return p, err
		}
	}
	if until != "" {
		if p.until, err = parseWhen(to, see, now, true); err != nil {
			return p, err
		}
	}
	if !p.Since.IsZero() && !p.until.IsZero() && !p.Since.Before(p.until) {
		return p, engine.Misuse(see, "%s is not before %s", from, to)
	}
	return p, nil
}

// Since reads when a period begins, which a setting says.
func Since(setting engine.Setting, see engine.Operation) (time.Time, error) {
	return parseWhen(setting, see, time.Now(), false)
}

// parseWhen reads an age before now (30m), a date, or a time of a day. What has no zone is in that of the
// person. A date that ends a period is the end of that day.
func parseWhen(setting engine.Setting, see engine.Operation, now time.Time, ends bool) (time.Time, error) {
	s := setting.Value
	if age, err := ParseAge(s); err == nil {
		return now.Add(-age), nil
	}
	if days, ok := map[string]int{"today": 0, "yesterday": -1}[s]; ok {
		s = now.AddDate(0, 0, days).Format(time.DateOnly)
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		if ends {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, engine.Misuse(see, "%s: expected an age such as 45s, 30m, 1h or 2d, or a date such as 2026-11-21, 2026-11-21T10:34, today or yesterday", engine.Setting{Name: setting.Name, Value: strconv.Quote(s)})
}

// Filter selects the runs that continued in the period.
func (p Period) Filter() persistence.Filter {
	return persistence.Filter{Since: p.Since, Until: p.until}
}

// Contains reports whether a moment is in the period.
func (p Period) Contains(t time.Time) bool {
	return !t.Before(p.Since) && (p.until.IsZero() || t.Before(p.until))
}

// RunsOf returns the newest runs of a loop, or of all loops for the name "", that a filter selects, limit at
// most (0 = all). Its Keep is asked about runs as they are now. A name that has no runs, and is no loop's, is
// an error.
func RunsOf(ctx context.Context, f project.Finder, name string, limit int, filter persistence.Filter) ([]persistence.Run, error) {
	if keep := filter.Keep; keep != nil {
		filter.Keep = func(r persistence.Run) bool { return keep(project.AsNow(r)) }
	}
	for _, in := range []func(string) string{func(given string) string { return given }, f.NameIn} {
		loop := in(name)
		if loop == "" && name != "" {
			continue
		}
		kept, err := selected(ctx, f, loop, limit, filter)
		if err != nil || len(kept) > 0 || name == "" {
			return kept, err
		}
		some, err := f.Loop(ctx, loop, 1)
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		if len(some) > 0 {
			return nil, nil
		}
	}
	if _, err := f.Project.Resolve(name); err != nil {
		return nil, noLoop(ctx, f, name)
	}
	return nil, nil
}

func selected(ctx context.Context, f project.Finder, loop string, limit int, filter persistence.Filter) ([]persistence.Run, error) {
	for look := limit; ; look *= 2 {
		runs, err := f.Chosen(ctx, persistence.Query{Loop: loop, Limit: look, Filter: filter, HeldReadings: true})
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		kept := project.Current(runs)
		// A run with a record in two places is one.
		if limit == 0 || len(kept) >= limit || len(runs) < look {
			return kept[:min(len(kept), cmp.Or(limit, len(kept)))], nil
		}
	}
}

// ParseAge reads 45s, 30m, 1h or 2d.
func ParseAge(s string) (time.Duration, error) {
	bad := engine.Misuse(engine.OpHistory, "%s: expected a number and s, m, h or d, such as 30m", engine.Setting{Name: "since", Value: strconv.Quote(s)})
	if s == "" {
		return 0, bad
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if !ok || err != nil || n > uint64(100*365*24*time.Hour/unit) {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}
