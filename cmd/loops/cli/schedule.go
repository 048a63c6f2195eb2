package cli

import (
	"time"

	"github.com/spf13/cobra"

	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

func newScheduleCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Show when loops are to run", Args: noSuchCommand, Example: "  loops schedule next nightly",
		Long: `The key schedule of a loop file says when the loop is to be run. loops does not start scheduled loops itself yet; use
cron.` + exitCodes(exitOK, exitUsage),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o, json := lookup.NextTimes{Project: a.project}, false
	next := &cobra.Command{
		Use: "next NAME", Short: "List the next times of a loop's schedule", Args: arguments(1, 1, "NAME of a loop"),
		Long: `next lists the next times of the schedule of a loop, in its time zone, without running anything. A time that is skipped
when clocks are put forward is listed as that moment; one that comes twice is listed once, unless the hour is *.` +
			exitCodes(exitOK, exitUsage, exitInvalid, exitNotFound),
		Example: "  loops schedule next nightly -n 10\n  loops schedule next nightly --after 2026-03-28",
		RunE: func(_ *cobra.Command, args []string) error {
			l, times, err := o.Of(args[0], time.Now())
			switch {
			case err != nil:
				return a.shown(err)
			case json:
				return ui.WriteJSON(a.out, views.NextTimesObject(l, times))
			}
			return views.WriteNextTimes(a.out, times, time.Now())
		},
	}
	next.Flags().IntVarP(&o.Count, "count", "n", 5, "list `N` times")
	next.Flags().StringVar(&o.After, "after", "", "list times after `WHEN`: a date such as 2026-11-21 or 2026-11-21T10:34 (default: now)")
	next.Flags().BoolVarP(&json, "json", "j", false, "print a JSON object")
	cmd.AddCommand(next)
	return cmd
}
