package view

import (
	"strings"
	"testing"
	"time"

	"loops/internal/humanize"
)

// Interrupted runs are below those that are running. The table fits on a screen of 80 columns as long as names do, and
// says the most that fits on a narrower one.
func TestWriteRuns(t *testing.T) {
	t.Parallel()
	lines := []RunLine{
		{"fix-20261121T103405", "awaiting_continuation", "a", "3", "250ms", "3d04h", "-", nil, true},
		{
			"deploy-all-20261121T103405", "running", "implement>review>fix", "12/500", "1h02m", "4m05s", "1234567",
			[]string{"waits for the rate limit of an agent host (state implement), until 2026-11-21 " +
				"12:00:00 (4m05s left)"},
			false,
		},
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `RUN                         STATUS                 STATE                 STEP    ELAPSED  IDLE   PID
deploy-all-20261121T103405  running                implement>review>fix  12/500  1h02m    4m05s  1234567
  waits for the rate limit of an agent host (state implement), until 2026-11-21 12:00:00 (4m05s left)

Not running:
fix-20261121T103405         awaiting_continuation  a                     3       250ms    3d04h  -
`},
		{100, `RUN                         STATUS                 STATE             STEP    ELAPSED  IDLE   PID
deploy-all-20261121T103405  running                implement>revie…  12/500  1h02m    4m05s  1234567
  waits for the rate limit of an agent host (state implement), until 2026-11-21 12:00:00 (4m05s le…

Not running:
fix-20261121T103405         awaiting_continuation  a                 3       250ms    3d04h  -
`},
		{80, `RUN                         STATUS                 STATE           STEP    IDLE
deploy-all-20261121T103405  running                implement>rev…  12/500  4m05s
  waits for the rate limit of an agent host (state implement), until 2026-11-2…

Not running:
fix-20261121T103405         awaiting_continuation  a               3       3d04h
`},
	} {
		var b strings.Builder
		WriteRuns(&b, append([]RunLine(nil), lines...), c.width)
		if b.String() != c.want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", c.width, b.String(), c.want)
		}
		for line := range strings.Lines(b.String()) {
			if n := humanize.Width(strings.TrimSpace(line)); c.width > 0 && n > c.width {
				t.Errorf("%d columns: a line has %d: %s", c.width, n, line)
			}
		}
	}
}

func TestShortTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		250 * time.Millisecond: "250ms", 59 * time.Second: "59s", 245 * time.Second: "4m05s",
		3723 * time.Second: "1h02m",
		99 * time.Hour:     "99h00m", 100 * time.Hour: "4d04h",
	} {
		if got := ShortTime(d); got != want || len(got) > 6 {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
