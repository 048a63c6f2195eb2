package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/persistence"
)

func newRunsCommand(a *program) *cobra.Command {
	var asJSON bool
	q := app.HistoryQuery{}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of all loops, newest first, with the reason why each ended",
		Long: `runs lists the recorded runs of all loops of the project, newest first, each with its outcome and the reason why it
ended. It shows the newest 20, and says when there are more. history NAME lists those of one loop.

--group-by outcome counts runs by how they ended, instead of listing them, and --group-by day by the day on which they
began.

Given together, all filters must hold. WHEN is an age (45s, 30m, 1h, 2d), a date (2026-11-21, 2026-11-21T10:34), today or
yesterday; with --until, a date is that whole day. --status takes the status of a run, or its outcome: capped, stopped,
killed, stalled, budget, limited, parked, handed_off, paused. --failed leaves out runs that a user stopped.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops runs
  loops runs --failed --since yesterday
  loops runs --loop fix --status capped,timed_out --json
  loops runs --reason "no space left" -n 0
  loops runs --group-by day --since 7d`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Group != "" && !cmd.Flags().Changed("limit") {
				q.Limit = 0
			}
			if q.Limit < 0 {
				return usageError{fmt.Sprintf("--limit %d: expected 0 (all) or more", q.Limit), "loops runs --help"}
			}
			return runRuns(cmd.Context(), a, q, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Loop, "loop", "", "only runs of the loop `NAME`")
	addRunFilters(flags, &q)
	flags.StringVarP(&q.State, "state", "s", "", "only runs that are, or ended, in this `STATE`, or were in it "+
		"inside a sub-loop, branch or item")
	flags.StringVarP(&q.Since, "since", "S", "", "only what is newer than `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringVar(&q.Until, "until", "", "only what is older than `WHEN`: an age or a date")
	flags.IntVarP(&q.Limit, "limit", "n", 20, "the newest `N` only, 0 = all")
	flags.BoolVarP(&asJSON, "json", "j", false, "print a JSON array")
	return cmd
}

// addRunFilters adds the flags that choose among runs, or count them, in every list of runs.
func addRunFilters(flags *pflag.FlagSet, q *app.HistoryQuery) {
	flags.StringSliceVar(&q.Status, "status", nil,
		"only runs with this `STATUS`, or one of several: failed,interrupted")
	flags.StringVar(&q.Group, "group-by", "", "count runs by `WHAT`: outcome or day")
	flags.BoolVar(&q.Failed, "failed", false, "only runs that ended badly, but not those that a user stopped")
	flags.StringVar(&q.Reason, "reason", "", "only runs with this `TEXT` in their reason; upper and lower "+
		"case are the same")
	flags.StringSliceVar(&q.Labels, "label", nil, "only runs of loops with this `LABEL`, or one of several")
}

func runRuns(ctx context.Context, a *program, q app.HistoryQuery, asJSON bool) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	shown := q.Limit
	if shown > 0 {
		q.Limit++ // one more shows whether there are more
	}
	q.OneByOne = q.Limit == 0
	h, err := s.AllRuns(ctx, q)
	if err != nil {
		return err
	}
	more := shown > 0 && len(h.Runs) > shown
	if more {
		h.Runs = h.Runs[:shown]
	}
	all := fmt.Sprintf("The newest %d; all of them: loops runs -n 0, with the same filters", shown)
	switch {
	case asJSON:
		if more {
			a.note("%s", all)
		}
		return h.WriteJSON(a.out)
	case h.Counted():
		return h.PrintCounts()
	}
	var again *persistence.Run // the newest that can be retried
	n, err := h.Table.Print(func(yield func(persistence.Run, error) bool) {
		for r, err := range h.Each() {
			if again == nil && err == nil && engine.CanRetry(r) {
				again = &r
			}
			if !yield(r, err) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case n == 0 && q.Filtered():
		terminal.SayLine(a.out, "No such runs.")
	case n == 0:
		terminal.SayLine(a.out, "No runs are recorded. Start one with: loops run NAME")
	case again != nil && q.Failed:
		terminal.SayLine(a.out, "Again from where the newest failed: "+a.page().Remedy(engine.Again(*again)))
	}
	if more {
		terminal.SayLine(a.out, all)
	}
	return nil
}
