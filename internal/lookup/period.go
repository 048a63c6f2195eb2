package lookup

import (
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

// parseWhen reads an age before now (30m), a date, or a time of a day. What has no zone is in that of the person. A date
// that ends a period is the end of that day.
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

// Holds reports whether a run continued in the period.
func (p Period) Holds(r persistence.Run) bool {
	if !p.Since.IsZero() && !r.StartedAt.After(p.Since) && !r.UpdatedAt.After(p.Since) {
		return false
	}
	return p.until.IsZero() || r.StartedAt.Before(p.until)
}

// Contains reports whether a moment is in the period.
func (p Period) Contains(t time.Time) bool {
	return !t.Before(p.Since) && (p.until.IsZero() || t.Before(p.until))
}

// RunsOf returns the newest runs of a loop, or of all loops for the name "", that keep accepts, limit at most (0 = all). It looks at no more of the others
// than it has to. A name that has no runs, and is no loop's, is an error.
func RunsOf(ctx context.Context, f project.Finder, name string, limit int, keep func(persistence.Run) bool) ([]persistence.Run, error) {
	loop, before := name, -1
	for look := limit; ; look *= 10 {
		runs, err := f.Loop(ctx, loop, look)
		if err == nil && len(runs) == 0 && loop == name && name != "" {
			if in := f.NameIn(name); in != "" && in != name {
				loop = in
				runs, err = f.Loop(ctx, loop, look)
			}
		}
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		if len(runs) == 0 && name != "" {
			if _, err := f.Project.Resolve(name); err != nil {
				return nil, noLoop(ctx, f, name)
			}
		}
		var kept []persistence.Run
		for _, r := range runs {
			if (limit == 0 || len(kept) < limit) && keep(r) {
				kept = append(kept, r)
			}
		}
		// A run with a record in two places is one, so that a few less than were asked for need not be all.
		if limit == 0 || len(kept) == limit || 2*len(runs) < look || len(runs) == before {
			return kept, nil
		}
		before = len(runs)
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
