package cli

import (
	"strings"
	"testing"
	"time"

	"loops/internal/plain"
)

// The table fits on a screen of 80 columns as long as names do, and says the most that fits on a narrower one.
func TestWriteRuns(t *testing.T) {
	lines := []runLine{
		{"deploy-all-20261121T103405", "running", "implement>review>fix", "12/500", "1h02m", "4m05s", "1234567", []string{"waits for the rate limit of an agent host (state implement), until 2026-11-21 12:00:00 (4m05s left)"}},
		{"fix-20261121T103405", "awaiting_continuation", "a", "3", "250ms", "3d04h", "-", nil},
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `RUN                         STATUS                 STATE                 STEP    ELAPSED  IDLE   PID
deploy-all-20261121T103405  running                implement>review>fix  12/500  1h02m    4m05s  1234567
  waits for the rate limit of an agent host (state implement), until 2026-11-21 12:00:00 (4m05s left)
fix-20261121T103405         awaiting_continuation  a                     3       250ms    3d04h  -
`},
		{100, `RUN                         STATUS                 STATE             STEP    ELAPSED  IDLE   PID
deploy-all-20261121T103405  running                implement>revie…  12/500  1h02m    4m05s  1234567
  waits for the rate limit of an agent host (state implement), until 2026-11-21 12:00:00 (4m05s le…
fix-20261121T103405         awaiting_continuation  a                 3       250ms    3d04h  -
`},
		{80, `RUN                         STATUS                 STATE           STEP    IDLE
deploy-all-20261121T103405  running                implement>rev…  12/500  4m05s
  waits for the rate limit of an agent host (state implement), until 2026-11-2…
fix-20261121T103405         awaiting_continuation  a               3       3d04h
`},
	} {
		var b strings.Builder
		writeRuns(&b, append([]runLine(nil), lines...), c.width)
		if b.String() != c.want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", c.width, b.String(), c.want)
		}
		for line := range strings.Lines(b.String()) {
			if n := plain.Width(strings.TrimSpace(line)); c.width > 0 && n > c.width {
				t.Errorf("%d columns: a line has %d: %s", c.width, n, line)
			}
		}
	}
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		250 * time.Millisecond: "250ms", 59 * time.Second: "59s", 245 * time.Second: "4m05s", 3723 * time.Second: "1h02m",
		99 * time.Hour: "99h00m", 100 * time.Hour: "4d04h",
	} {
		if got := shortTime(d); got != want || len(got) > 6 {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// What no run is at once is refused, and so is what nobody knows.
func TestOpenFilter(t *testing.T) {
	for line, want := range map[string]string{
		"":                                       "",
		"--stuck":                                "",
		"--stuck 30m":                            "",
		"--stuck=2d":                             "",
		"--stuck --status running":               "",
		"--waiting --status running,queued":      "",
		"--failed-since 1d --status timed_out":   "",
		"--status interrupted,user_stopped":      "",
		"30m":                                    `unexpected argument "30m"`,
		"--stuck=5m 30m":                         `unexpected argument "30m"`,
		"--stuck soon":                           `--stuck "soon": expected a time such as 90s, 30m, 1h or 2d`,
		"--stuck=0s":                             `--stuck "0s": expected a time such as 90s, 30m, 1h or 2d`,
		"--failed-since yesterday":               `--failed-since "yesterday": expected an age such as 45s, 30m, 1h or 2d, or a date such as 2026-11-21 or 2026-11-21T10:34`,
		"--status stopped":                       `--status "stopped": there is no such status; they are running, interrupted, user_stopped, awaiting_continuation, failed, queued, unreadable, timed_out, completed`,
		"--status=":                              `--status: expected a status, such as running`,
		"--status completed":                     `--status completed: such a run is not open; loops history NAME --status completed lists those that ended`,
		"--stuck --waiting":                      `--stuck and --waiting: no run is both, because one that waits is silent on purpose`,
		"--stuck --failed-since 1d":              `--stuck and --failed-since: no run is both, because one that is stuck has not ended`,
		"--waiting --failed-since 1d":            `--waiting and --failed-since: no run is both, because one that failed waits for nothing`,
		"--stuck --status interrupted":           `--stuck and --status interrupted: no run is both, because only one that goes on is stuck`,
		"--waiting --status failed":              `--waiting and --status failed: no run is both`,
		"--failed-since 1d --status interrupted": "",
		"--failed-since 1d --status running":     `--failed-since and --status running: no run is both; --failed-since lists failed, timed_out and interrupted`,
	} {
		cmd := newListCommand(&app{})
		var f openFilter
		got := ""
		flags := cmd.Flags()
		err := flags.Parse(strings.Fields(line))
		if err == nil {
			f.stuck, f.failedSince = flags.Lookup("stuck").Value.String(), flags.Lookup("failed-since").Value.String()
			f.waiting, _ = flags.GetBool("waiting")
			f.status, _ = flags.GetStringSlice("status")
			err = f.check(cmd, flags.Args())
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("list %s: got\n%s\nwant\n%s", line, got, want)
		}
	}
}
