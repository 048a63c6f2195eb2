package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/ui/views"
	"loops/persistence"
)

// stuckAfter is how long a run is silent before it counts as stuck, unless told.
const stuckAfter = 10 * time.Minute

// An openFilter chooses among the runs that list --running shows. All that is set must hold.
type openFilter struct {
	stuck       string
	waiting     bool
	failedSince string
	status      []string

	silent time.Duration // of stuck; 0 = not asked for
	failed time.Time     // of failedSince; zero = not asked for
}

func (f *openFilter) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.stuck, "stuck", "", "list runs that go on and have been silent for `DURATION` (default 10m)")
	flags.Lookup("stuck").NoOptDefVal = stuckAfter.String()
	flags.BoolVar(&f.waiting, "waiting", false, "list runs that wait")
	flags.StringVar(&f.failedSince, "failed-since", "", "list runs that ended badly since `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringSliceVar(&f.status, "status", nil, "list open runs with this `STATUS`, or one of several: interrupted,queued")
}

// chooses says whether anything is asked for.
func (f *openFilter) chooses() bool {
	return f.silent > 0 || f.waiting || !f.failed.IsZero() || len(f.status) > 0
}

// openStatuses are those that --status of list knows, and whether a run with it is open.
var openStatuses = []struct {
	name string
	open bool
}{
	{string(persistence.Running), true},
	{string(persistence.Interrupted), true},
	{string(persistence.UserStopped), true},
	{string(persistence.Awaiting), true},
	{string(persistence.Failed), true}, // because a rate limit lasted
	{views.StatusQueued, true},
	{"unreadable", true},
	{inspect.UnknownOwner, true},
	{string(persistence.Starting), true},
	{string(persistence.TimedOut), false},
	{string(persistence.Completed), false},
}

// listStatuses offers what --status of list takes beside the flags that are given.
func listStatuses(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	for _, s := range openStatuses {
		f := openFilter{status: []string{s.name}}
		if cmd.Flags().Changed("failed-since") {
			f.failed = time.Now()
		} else if cmd.Flags().Changed("stuck") {
			f.silent = stuckAfter
		}
		f.waiting, _ = cmd.Flags().GetBool("waiting")
		if f.contradiction() == nil {
			names = append(names, s.name)
		}
	}
	return listed(names...)(cmd, args, word)
}

const seeList = "loops list --help"

// check reads the flags, and refuses what no run can be. args is what stands behind --stuck.
func (f *openFilter) check(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if len(args) > 0 {
		if !flags.Changed("stuck") || f.stuck != flags.Lookup("stuck").NoOptDefVal {
			return usageError{fmt.Sprintf("unexpected argument %q", args[0]), seeList}
		}
		f.stuck = args[0]
	}
	if flags.Changed("stuck") {
		d, err := parseSpan(f.stuck)
		if err != nil {
			return usageError{fmt.Sprintf("--stuck %q: expected a time such as 90s, 30m, 1h or 2d", f.stuck), seeList}
		}
		f.silent = d
	}
	if flags.Changed("failed-since") {
		when, err := lookup.Since(engine.Setting{Name: "failed_since", Value: f.failedSince}, "list")
		if err != nil {
			return err
		}
		f.failed = when
	}
	if flags.Changed("status") && len(f.status) == 0 {
		return usageError{"--status: expected a status, such as running", seeList}
	}
	return f.contradiction()
}

// parseSpan reads a time above 0.
func parseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = lookup.ParseAge(s)
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above 0", s)
	}
	return d, err
}

// contradiction refuses what no run is at once.
func (f *openFilter) contradiction() error {
	never := func(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...), seeList} }
	switch {
	case f.silent > 0 && f.waiting:
		return never("--stuck and --waiting: no run is both, because one that waits is silent on purpose")
	case f.silent > 0 && !f.failed.IsZero():
		return never("--stuck and --failed-since: no run is both, because one that is stuck has not ended")
	case f.waiting && !f.failed.IsZero():
		return never("--waiting and --failed-since: no run is both, because one that failed waits for nothing")
	}
	var names []string
	for _, s := range openStatuses {
		names = append(names, s.name)
	}
	for _, name := range f.status {
		i := slices.Index(names, name)
		if i < 0 {
			return never("--status %s: there is no such status%s; they are %s", phrase.Quote(name), phrase.DidYouMean(name, names), phrase.List(names))
		}
		status := persistence.Status(name)
		switch {
		case !f.failed.IsZero() && status != persistence.Failed && status != persistence.TimedOut && status != persistence.Interrupted:
			return never("--failed-since and --status %s: no run is both; --failed-since lists failed, timed_out and interrupted", name)
		case f.silent > 0 && status != persistence.Running:
			return never("--stuck and --status %s: no run is both, because only one that goes on is stuck", name)
		case f.waiting && (status == persistence.Failed || name == "unreadable"):
			return never("--waiting and --status %s: no run is both", name)
		case f.failed.IsZero() && !openStatuses[i].open:
			return never("--status %s: such a run is not open; loops history NAME --status %s lists those that ended", name, name)
		}
	}
	return nil
}

// has says whether a status is asked for.
func (f *openFilter) has(status string) bool {
	return len(f.status) == 0 || slices.Contains(f.status, status)
}

// keeps says whether a run is one that was asked for.
func (f *openFilter) keeps(v *inspect.Vitals) bool {
	r := v.Run
	switch {
	case !f.has(inspect.StatusWord(r)):
		return false
	case f.silent > 0:
		return project.Alive(r) && !v.Waits() && v.Idle() >= f.silent
	case f.waiting:
		return v.Waits() || r.Status == persistence.Awaiting && r.Resumable
	}
	return true
}

// queued says whether those in the queue are asked for.
func (f *openFilter) queued() bool {
	return f.silent == 0 && f.failed.IsZero() && f.has(views.StatusQueued)
}
