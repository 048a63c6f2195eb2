package inspect

import (
	"testing"
	"time"

	"loops/persistence"
)

// A run that was resumed an hour after its process died is not silent for that hour.
func TestIdle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		what    string
		heard   time.Time
		started time.Time // its process; zero = not known
		alive   bool
		want    time.Duration
	}{
		{"it was never heard of", time.Time{}, ago(time.Minute), true, 0},
		{"it is running in one process", ago(time.Minute), ago(time.Hour), true, time.Minute},
		{"it was resumed a second ago", ago(time.Hour), ago(time.Second), true, time.Second},
		{"its process is not known", ago(time.Hour), time.Time{}, true, time.Hour},
		{"its process is gone", ago(time.Hour), ago(time.Second), false, time.Hour},
	} {
		v := &Status{Run: persistence.Run{UpdatedAt: c.heard}, Alive: c.alive, Now: now}
		if !c.started.IsZero() {
			v.Run.Owner.Start = c.started.UnixMilli()
		}
		if got := v.Idle(); got != c.want {
			t.Errorf("%s: silent for %s, want %s", c.what, got, c.want)
		}
	}
}
