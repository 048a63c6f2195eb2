package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

func addOpenFlags(f *app.OpenFilter, flags *pflag.FlagSet) {
	flags.StringVar(&f.Stuck, "stuck", "", "list running runs that have been silent for `DURATION` (default 10m)")
	flags.Lookup("stuck").NoOptDefVal = app.StuckAfter.String()
	flags.BoolVar(&f.Waiting, "waiting", false, "list runs that wait")
	flags.Bool("suspended", false, "list runs that need you first, such as a login (--status suspended)")
	flags.BoolVar(&f.Unmerged, "unmerged", false, "list runs that completed and were not merged, though their "+
		"worktree: merge asked for it")
	flags.StringVar(&f.FailedSince, "failed-since", "",
		"list runs that ended badly since `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringVarP(&f.State, "state", "s", "", "list open runs that are in this `STATE`, or in one of a sub-loop, "+
		"branch or item inside it")
	flags.StringSliceVar(&f.Status, "status", nil,
		"list open runs with this `STATUS`, or one of several: interrupted,queued")
}

// listStatuses offers what --status of list takes beside the flags that are given.
func listStatuses(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	for _, s := range app.OpenStatuses {
		f := app.OpenFilter{Status: []string{s.Name}}
		if cmd.Flags().Changed("failed-since") {
			f.Failed = time.Now()
		} else if cmd.Flags().Changed("stuck") {
			f.Silent = app.StuckAfter
		}
		f.Waiting, _ = cmd.Flags().GetBool("waiting")
		f.Unmerged, _ = cmd.Flags().GetBool("unmerged")
		if contradiction(&f) == nil {
			names = append(names, s.Name)
		}
	}
	return completeListed(names...)(cmd, args, word)
}

const seeList = "loops list --help"

// checkOpen reads the flags, and refuses what no run can be. args is what is behind --stuck.
func checkOpen(f *app.OpenFilter, cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if len(args) > 0 {
		if !flags.Changed("stuck") || f.Stuck != flags.Lookup("stuck").NoOptDefVal {
			return usageError{fmt.Sprintf("unexpected argument %q", args[0]), seeList}
		}
		f.Stuck = args[0]
	}
	if flags.Changed("stuck") {
		d, err := app.ParseSpan(f.Stuck)
		if err != nil {
			return usageError{fmt.Sprintf("--stuck %q: expected a time such as 90s, 30m, 1h or 2d", f.Stuck), seeList}
		}
		f.Silent = d
	}
	if flags.Changed("failed-since") {
		when, err := app.Since(engine.Setting{Name: "failed_since", Value: f.FailedSince}, "list")
		if err != nil {
			return err
		}
		f.Failed = when
	}
	if flags.Changed("state") && f.State == "" {
		return usageError{"--state: expected the name of a state", seeList}
	}
	if flags.Changed("status") && len(f.Status) == 0 {
		return usageError{"--status: expected a status, such as running", seeList}
	}
	if alone, _ := flags.GetBool("suspended"); alone {
		f.Status = append(f.Status, inspect.Suspended)
	}
	return contradiction(f)
}

// badStatuses are the statuses, and the words, of runs that ended badly.
var badStatuses = []string{
	string(persistence.Failed), string(persistence.TimedOut), string(persistence.Interrupted), "capped", "killed",
	"stalled", "budget", "limited", inspect.Unmerged,
}

// contradiction refuses what no run is at once.
func contradiction(f *app.OpenFilter) error {
	never := func(format string, args ...any) error { return engine.Misuse("list", format, args...) }
	switch {
	case f.Silent > 0 && f.Waiting:
		return never("--stuck and --waiting: no run is both, because one that waits is silent on purpose")
	case f.Silent > 0 && !f.Failed.IsZero():
		return never("--stuck and --failed-since: no run is both, because one that is stuck has not ended")
	case f.Waiting && !f.Failed.IsZero():
		return never("--waiting and --failed-since: no run is both, because one that failed waits for nothing")
	}
	if f.Unmerged {
		switch {
		case f.Silent > 0:
			return never("--stuck and --unmerged: no run is both, because one that is stuck has not ended")
		case f.Waiting:
			return never("--waiting and --unmerged: no run is both, because one that was not merged has completed")
		case len(f.Status) > 0:
			return never("--unmerged and --status: runs that were not merged are all completed; leave --status out")
		}
	}
	var names []string
	for _, s := range app.OpenStatuses {
		names = append(names, s.Name)
	}
	for _, name := range f.Status {
		i := slices.Index(names, name)
		if i < 0 {
			return never("--status %s: there is no such status%s; they are %s", humanize.Quote(name),
				humanize.DidYouMean(name, names), humanize.List(names))
		}
		status := persistence.Status(name)
		switch {
		case !f.Failed.IsZero() && !slices.Contains(badStatuses, name):
			return never("--failed-since and --status %s: no run is both; --failed-since lists failed, timed_out "+
				"and interrupted", name)
		case f.Silent > 0 && status != persistence.Running:
			return never("--stuck and --status %s: no run is both, because only a running run can be stuck", name)
		case f.Waiting && (status == persistence.Failed || name == "unreadable"):
			return never("--waiting and --status %s: no run is both", name)
		case f.Failed.IsZero() && !app.OpenStatuses[i].Open:
			return never("--status %s: such a run is not open; loops history NAME --status %s lists those that ended",
				name, name)
		}
	}
	return nil
}
