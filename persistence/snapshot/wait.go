package snapshot

import (
	"maps"
	"math"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// What the machine remembers of rate limits is what little-loops records: two counts, seconds, and seconds since
// 1970 or null. It writes a bare number for the first of them too.

func putRateLimits(e *Writer, s *fsm.Snapshot) bool {
	if len(s.RateLimits) == 0 {
		return false
	}
	e.Open('{')
	for _, k := range slices.Sorted(maps.Keys(s.RateLimits)) {
		e.Key(k)
		e.rateLimit(s.RateLimits[k])
	}
	return e.Close('}')
}

func (e *Writer) rateLimit(x fsm.RateLimit) {
	var seen any
	if !x.FirstSeen.IsZero() {
		seen = float64(x.FirstSeen.UnixMicro()) / 1e6
	}
	e.Value(value.NewMap("short_retries", x.Short, "long_retries", x.Long,
		"total_wait_seconds", float64(x.Waited.Milliseconds())/1e3, "first_seen_at", seen))
}

func takeRateLimits(r *memory, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var x fsm.RateLimit
		var err error
		if n, ok := v.(int64); ok {
			x.Short = int(max(0, min(n, math.MaxInt32)))
		} else {
			err = TakeParts(v, map[string]func(any) error{
				"short_retries": func(v any) error { return TakeInt(&x.Short, v) },
				"long_retries":  func(v any) error { return TakeInt(&x.Long, v) },
				"total_wait_seconds": func(v any) error {
					var f float64
					if err := takeFloat(&f, v); err != nil {
						return err
					}
					if !(f >= 0 && f < 1e9) {
						return wrong("seconds", v)
					}
					x.Waited = time.Duration(math.Round(f*1e3)) * time.Millisecond
					return nil
				},
				"first_seen_at": func(v any) error { return takeEpoch(&x.FirstSeen, v) },
			})
		}
		put(&r.RateLimits, k, x)
		return err
	})
}

// takeEpoch reads seconds since 1970.
func takeEpoch(to *time.Time, v any) error {
	var f float64
	if err := takeFloat(&f, v); err != nil {
		return err
	}
	if !(f >= 0 && f < 1e11) {
		return wrong("seconds since 1970", v)
	}
	*to = time.UnixMicro(int64(math.Round(f * 1e6))).UTC()
	return nil
}

func putSession(e *Writer, s *fsm.Snapshot) bool {
	x := s.Session
	return x != nil && e.Value(value.NewMap("id", x.ID, "host", x.Host, "counted", usageValue(x.Counted)))
}

func takeSession(r *memory, v any) error {
	r.Session = &fsm.Session{}
	x := r.Session
	return TakeParts(v, map[string]func(any) error{
		"id":      func(v any) error { return TakeText(&x.ID, v) },
		"host":    func(v any) error { return TakeText(&x.Host, v) },
		"counted": func(v any) error { return takeUsage(&x.Counted, v) },
	})
}

func putWait(e *Writer, s *fsm.Snapshot) bool {
	x := s.Wait
	if x == nil {
		return false
	}
	m := value.NewMap("why", x.Why, "tier", x.Tier, "state", x.State, "since", fsm.FormatTime(x.Since), "until",
		fsm.FormatTime(x.Until))
	if x.Host != "" {
		m.Set("host", x.Host)
	}
	for _, f := range []struct{ key, text string }{
		{"what", x.What},
		{"event", x.Event},
		{"choices", x.Choices},
		{"question", x.Question},
		{"seen", x.Seen},
		{"by", x.By},
	} {
		if f.text != "" {
			m.Set(f.key, f.text)
		}
	}
	if x.Looks > 0 {
		m.Set("looks", int64(x.Looks))
	}
	if !x.Paused.IsZero() {
		m.Set("paused_at", fsm.FormatTime(x.Paused))
	}
	if x.Retry {
		m.Set("retry", true)
	}
	return e.Value(m)
}

func takeWait(r *memory, v any) error {
	r.Wait = &fsm.Wait{}
	x := r.Wait
	return TakeParts(v, map[string]func(any) error{
		"why":      func(v any) error { return TakeText(&x.Why, v) },
		"tier":     func(v any) error { return TakeText(&x.Tier, v) },
		"state":    func(v any) error { return TakeText(&x.State, v) },
		"host":     func(v any) error { return TakeText(&x.Host, v) },
		"since":    func(v any) error { return TakeTime(&x.Since, v) },
		"until":    func(v any) error { return TakeTime(&x.Until, v) },
		"what":     func(v any) error { return TakeText(&x.What, v) },
		"event":    func(v any) error { return TakeText(&x.Event, v) },
		"choices":  func(v any) error { return TakeText(&x.Choices, v) },
		"question": func(v any) error { return TakeText(&x.Question, v) },
		"seen":     func(v any) error { return TakeText(&x.Seen, v) },
		"by":       func(v any) error { return TakeText(&x.By, v) },
		"looks":    func(v any) error { return TakeInt(&x.Looks, v) },

		"paused_at": func(v any) error { return TakeTime(&x.Paused, v) },
		"retry":     func(v any) error { return takeBool(&x.Retry, v) },
	})
}

// same reports whether two values that may be missing are equal.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
