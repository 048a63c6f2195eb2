package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
	"loops/persistence"
)

type historyOptions struct {
	app.HistoryQuery
	verbose, json, full bool
}

func newHistoryCommand(a *program) *cobra.Command {
	o := historyOptions{HistoryQuery: app.HistoryQuery{Limit: -1}}
	cmd := &cobra.Command{
		Use:     "history NAME [RUN]",
		Aliases: []string{"h"},
		Short:   "List the runs of a loop, or the events of one",
		Long: `history NAME lists the runs of a loop, newest first. history NAME RUN shows the events of one run, oldest first; RUN is
an id as the list shows it, or "last".

Runs are chosen by --status, --failed, --reason, --label, --state, --since, --until and --text, events by -e, -s,
--since, --until and --text. It shows the
newest 20 runs or 50 events, and says when there are more. WHEN is an age (45s, 30m, 1h, 2d) or a date
(2026-11-21, 2026-11-21T10:34; with --until, a date is that whole day). --text reads the events of every run, and
--cost those of the runs that are shown, which takes longer.

--group-by outcome counts runs by how they ended, instead of listing them, --group-by day
by the day on which they began.

Output of actions is left out unless -v is given. With --json nothing else is left out. --full shows all that is recorded of
each event, whole.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops history fix
  loops history fix last
  loops history fix 2026-11-21T103405 --event route -n 10
  loops history fix --status failed,timed_out --since 2d --json
  loops history fix --text "no space left"
  loops history fix --group-by outcome`,
		Args: arguments(1, 2, "NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Loop = args[0]
			if len(args) > 1 {
				o.Run = args[1]
			}
			if cmd.Flags().Changed("limit") && o.Limit < 0 {
				return usageError{fmt.Sprintf("--limit %d: expected 0 (all) or more", o.Limit), "loops history --help"}
			}
			if o.full {
				o.verbose = true
			}
			return runHistory(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flagLimit(flags, &o.Limit, -1, "the newest `N` only, 0 = all (default 20 runs or 50 events)")
	flags.StringVarP(&o.Event, "event", "e", "", "only events of this `KIND`")
	flags.StringVarP(&o.State, "state", "s", "", "only events about this `STATE`, or runs that are, or ended, in it")
	flags.StringVarP(&o.Since, "since", "S", "", "only what is newer than `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringVar(&o.Until, "until", "", "only what is older than `WHEN`: an age or a date")
	flags.StringVar(&o.Text, "text", "", "only events with this `TEXT` in them, or runs with such events; upper and "+
		"lower case are the same")
	addRunFilters(flags, &o.HistoryQuery)
	flags.BoolVar(&o.Cost, "cost", false, "show what each run cost")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show output of actions too")
	flags.BoolVar(&o.full, "full", false, "show output of actions and every other field of each event, whole")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runHistory(ctx context.Context, a *program, o historyOptions) error {
	return a.ask(func(s *app.Service) error {
		o.Output, o.OneByOne = o.verbose || o.json, true
		ctx, read := a.reading(ctx)
		defer read()
		h, err := s.History(ctx, o.HistoryQuery)
		if err != nil {
			return err
		}
		if h.Run != nil || h.Counted() {
			read()
		}
		switch {
		case o.json && h.More != "":
			a.note("%s", h.More)
			fallthrough
		case o.json:
			return h.WriteJSON(terminal.Before(a.out, read))
		case h.Run != nil:
			h.PrintEvents(o.verbose, o.full)
			return nil
		}
		return printRuns(a, o, h, read)
	})
}

// printRuns prints the runs of a loop, or how they ended. It calls read once their records were read.
func printRuns(a *program, o historyOptions, h *app.History, read func()) error {
	if h.Counted() {
		return h.PrintCounts()
	}
	n, err := h.Table.Print(func(yield func(persistence.Run, error) bool) {
		defer read()
		h.Each()(yield)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		what := "recorded"
		if o.Filtered() {
			what = "such"
		}
		terminal.Say(a.out, "No %s runs of %s.\n", what, o.Loop)
		return nil
	}
	if h.Limit > 0 && len(h.Runs) == h.Limit {
		terminal.Say(a.out, "The newest %d; all of them: loops history %s -n 0\n", h.Limit, quote(o.Loop))
	}
	return nil
}
