package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/internal/app"
)

type diffOptions struct {
	a, b      string
	all, json bool
}

func newDiffCommand(a *program) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Show where two runs took different transitions",
		Long: `diff compares two runs: how they ended, what they took and cost, the first step at which they differ, all steps
that differ with those around them, and what each had captured and had in its context at the end. A step is the same where
its state, the exit code of its action, its verdict and its next state are. RUN can be the name of a loop: its newest run.
The runs may be of different loops. A run and a fork of it are compared from the step on that the fork began with.

In the table of steps, = means the same, ! a different result, < and > that only the first, or only the
second run was there. The runs need not differ: that, too, exits with 0.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops diff fix-20261121T103405 fix-20261121T113000
  loops diff fix-20261121T103405 fix --all
  loops diff 2026-11-21T103405 2026-11-21T113000 --json`,
		Args: arguments(2, 2, "two RUNs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return runDiff(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "show all steps, also those that are the same")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	return cmd
}

func runDiff(ctx context.Context, a *program, o diffOptions) error {
	return a.ask(func(s *app.Service) error {
		d, err := s.Compare(ctx, o.a, o.b)
		if err != nil {
			return err
		}
		if d.All = o.all; o.json {
			return d.WriteJSON(a.out)
		}
		return d.Print(a.page())
	})
}
