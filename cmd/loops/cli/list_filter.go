package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/internal/lookup"
	"loops/internal/view"
)

func addOpenFlags(f *view.OpenFilter, flags *pflag.FlagSet) {
	flags.StringVar(&f.Stuck, "stuck", "", "list running runs that have been silent for `DURATION` (default 10m)")
	flags.Lookup("stuck").NoOptDefVal = view.StuckAfter.String()
	flags.BoolVar(&f.Waiting, "waiting", false, "list runs that wait")
	flags.BoolVar(&f.Unmerged, "unmerged", false, "list runs that completed and were not merged, though their worktree: merge asked for it")
	flags.StringVar(&f.FailedSince, "failed-since", "", "list runs that ended badly since `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringSliceVar(&f.Status, "status", nil, "list open runs with this `STATUS`, or one of several: interrupted,queued")
}

// listStatuses offers what --status of list takes beside the flags that are given.
func listStatuses(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	for _, s := range view.OpenStatuses {
		f := view.OpenFilter{Status: []string{s.Name}}
		if cmd.Flags().Changed("failed-since") {
			f.Failed = time.Now()
		} else if cmd.Flags().Changed("stuck") {
			f.Silent = view.StuckAfter
		}
		f.Waiting, _ = cmd.Flags().GetBool("waiting")
		f.Unmerged, _ = cmd.Flags().GetBool("unmerged")
		if f.Contradiction() == nil {
			names = append(names, s.Name)
		}
	}
	return completeListed(names...)(cmd, args, word)
}

const seeList = "loops list --help"

// checkOpen reads the flags, and refuses what no run can be. args is what is behind --stuck.
func checkOpen(f *view.OpenFilter, cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if len(args) > 0 {
		if !flags.Changed("stuck") || f.Stuck != flags.Lookup("stuck").NoOptDefVal {
			return usageError{fmt.Sprintf("unexpected argument %q", args[0]), seeList}
		}
		f.Stuck = args[0]
	}
	if flags.Changed("stuck") {
		d, err := view.ParseSpan(f.Stuck)
		if err != nil {
			return usageError{fmt.Sprintf("--stuck %q: expected a time such as 90s, 30m, 1h or 2d", f.Stuck), seeList}
		}
		f.Silent = d
	}
	if flags.Changed("failed-since") {
		when, err := lookup.Since(engine.Setting{Name: "failed_since", Value: f.FailedSince}, "list")
		if err != nil {
			return err
		}
		f.Failed = when
	}
	if flags.Changed("status") && len(f.Status) == 0 {
		return usageError{"--status: expected a status, such as running", seeList}
	}
	return f.Contradiction()
}
