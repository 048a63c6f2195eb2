package app

import (
	"context"
	"iter"
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
	now, from, to := time.Now(), engine.Setting{Name: "since", Value: since},
		engine.Setting{Name: "until", Value: until}
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
	for _, layout := range []string{
		"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05",
		"2006-01-02 15:04:05", time.RFC3339,
	} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, engine.Misuse(see, "%s: expected an age such as 45s, 30m, 1h or 2d, or a date such as "+
		"2026-11-21, 2026-11-21T10:34, today or yesterday", engine.Setting{Name: setting.Name, Value: strconv.Quote(s)})
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
func RunsOf(ctx context.Context, f project.Finder, name string, limit int,
	filter persistence.Filter,
) (runs []persistence.Run, _ error) {
	for r, err := range EachOf(ctx, f, name, limit, filter) {
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// EachOf yields what RunsOf returns. Without a limit, not all of it is held.
func EachOf(ctx context.Context, f project.Finder, name string, limit int,
	filter persistence.Filter,
) iter.Seq2[persistence.Run, error] {
	if keep := filter.Keep; keep != nil {
		filter.Keep = func(r persistence.Run) bool { return keep(project.AsNow(r)) }
	}
	return func(yield func(persistence.Run, error) bool) {
		for _, in := range []func(string) string{func(given string) string { return given }, f.NameIn} {
			loop, some := in(name), false
			if loop == "" && name != "" {
				continue
			}
			for r, err := range selected(ctx, f, loop, limit, filter) {
				if some = true; !yield(r, err) || err != nil {
					return
				}
			}
			if some || name == "" {
				return
			}
			any, err := f.Loop(ctx, loop, 1)
			if err != nil {
				yield(persistence.Run{}, f.Store.Failed(err))
				return
			}
			if len(any) > 0 {
				return
			}
		}
		if _, err := f.Project.Resolve(name); err != nil {
			yield(persistence.Run{}, noLoop(ctx, f, name))
		}
	}
}

// selected yields the runs of a loop that a filter selects, as they are now. The error is the last that is yielded.
func selected(ctx context.Context, f project.Finder, loop string, limit int,
	filter persistence.Filter,
) iter.Seq2[persistence.Run, error] {
	q := persistence.Query{Loop: loop, Filter: filter, HeldReadings: true}
	return func(yield func(persistence.Run, error) bool) {
		if limit == 0 {
			for r, err := range project.EachCurrent(f.Each(ctx, q)) {
				if err != nil {
					err = f.Store.Failed(err)
				}
				if !yield(r, err) {
					return
				}
			}
			return
		}
		persistence.EachOf(func() ([]persistence.Run, error) {
			for q.Limit = limit; ; q.Limit *= 2 {
				runs, err := f.Chosen(ctx, q)
				if err != nil {
					return nil, f.Store.Failed(err)
				}
				// A run with a record in two places is one.
				if kept := project.Current(runs); len(kept) >= limit || len(runs) < q.Limit {
					return kept[:min(len(kept), limit)], nil
				}
			}
		})(yield)
	}
}

// ParseAge reads 45s, 30m, 1h or 2d.
func ParseAge(s string) (time.Duration, error) {
	bad := engine.Misuse(engine.OpHistory, "%s: expected a number and s, m, h or d, such as 30m",
		engine.Setting{Name: "since", Value: strconv.Quote(s)})
	if s == "" {
		return 0, bad
	}
	unit, ok := map[byte]time.Duration{
		's': time.Second, 'm': time.Minute, 'h': time.Hour,
		'd': 24 * time.Hour,
	}[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if !ok || err != nil || n > uint64(100*365*24*time.Hour/unit) {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}

// ParseWait reads a time to wait; a bare number is seconds, as little-loops has it.
func ParseWait(s string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if d, err := ParseAge(s); err == nil {
		return d, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
