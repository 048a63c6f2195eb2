package cli

import (
	"strings"
	"testing"

	"loops/internal/app"
)

// Filters that no run can match together are refused, and so are unknown statuses.
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
		"--failed-since someday":                 `failed_since "someday": expected an age such as 45s, 30m, 1h or 2d, or a date such as 2026-11-21, 2026-11-21T10:34, today or yesterday`,
		"--status halted":                        `--status "halted": there is no such status; they are running, interrupted, user_stopped, awaiting_continuation, failed, capped, stopped, paused, parked, handed_off, suspended, killed, budget, limited, queued and 7 more`,
		"--status capped,stopped,killed":         "",
		"--failed-since 1d --status killed":      "",
		"--status stalled":                       `--status stalled: such a run is not open; loops history NAME --status stalled lists those that ended`,
		"--status=":                              `--status: expected a status, such as running`,
		"--status completed":                     `--status completed: such a run is not open; loops history NAME --status completed lists those that ended`,
		"--stuck --waiting":                      `--stuck and --waiting: no run is both, because one that waits is silent on purpose`,
		"--stuck --failed-since 1d":              `--stuck and --failed-since: no run is both, because one that is stuck has not ended`,
		"--waiting --failed-since 1d":            `--waiting and --failed-since: no run is both, because one that failed waits for nothing`,
		"--stuck --suspended":                    `--stuck and --status suspended: no run is both, because only a running run can be stuck`,
		"--suspended --failed-since 1d":          `--failed-since and --status suspended: no run is both; --failed-since lists failed, timed_out and interrupted`,
		"--stuck --status interrupted":           `--stuck and --status interrupted: no run is both, because only a running run can be stuck`,
		"--waiting --status failed":              `--waiting and --status failed: no run is both`,
		"--failed-since 1d --status interrupted": "",
		"--failed-since 1d --status running":     `--failed-since and --status running: no run is both; --failed-since lists failed, timed_out and interrupted`,
	} {
		cmd := newListCommand(&program{})
		var f app.OpenFilter
		got := ""
		flags := cmd.Flags()
		err := flags.Parse(strings.Fields(line))
		if err == nil {
			f.Stuck, f.FailedSince = flags.Lookup("stuck").Value.String(), flags.Lookup("failed-since").Value.String()
			f.Waiting, _ = flags.GetBool("waiting")
			f.Status, _ = flags.GetStringSlice("status")
			err = checkOpen(&f, cmd, flags.Args())
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("list %s: got\n%s\nwant\n%s", line, got, want)
		}
	}
}
