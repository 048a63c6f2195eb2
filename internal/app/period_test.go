package app

import (
	"testing"
	"time"

	"loops/engine"
)

func TestParseWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	at := func(year, month, day, hour, minute, second int) time.Time {
		return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.Local)
	}
	for _, c := range []struct {
		Text string
		ends bool
		want time.Time // zero = a mistake
	}{
		{"30m", false, now.Add(-30 * time.Minute)},
		{"2d", true, now.Add(-48 * time.Hour)},
		{"2026-11-21", false, at(2026, 11, 21, 0, 0, 0)},
		{"2026-11-21", true, at(2026, 11, 22, 0, 0, 0)},
		{"2026-11-21T10:34", true, at(2026, 11, 21, 10, 34, 0)},
		{"2026-11-21 10:34:05", false, at(2026, 11, 21, 10, 34, 5)},
		{"2026-11-21T10:34:05Z", false, time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)},
		{"2026-11-31", false, time.Time{}},
		{"someday", false, time.Time{}},
		{"today", false, time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())},
		{"yesterday", true, time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())},
		{"", false, time.Time{}},
		{"-1h", false, time.Time{}},
	} {
		got, err := parseWhen(engine.Setting{Name: "since", Value: c.Text}, engine.OpHistory, now, c.ends)
		if (err != nil) != c.want.IsZero() || err == nil && !got.Equal(c.want) {
			t.Errorf("%q (%v): %v, %v; want %v", c.Text, c.ends, got, err, c.want)
		}
	}
}
