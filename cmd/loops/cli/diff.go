package cli

import (
	"context"
	"fmt"

	"loops/internal/align"

	"github.com/spf13/cobra"

	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui/views"
)

type diffOptions struct {
	a, b      string
	all, json bool
}

func newDiffCommand(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Show where two runs took different transitions",
		Long: `diff puts two runs beside each other: how they ended, what they took and cost, the first step at which they differ, all steps
that differ with those around them, and what each had captured and had in its context at the end. A step is the same where
its state, the exit code of its action, its verdict and its next state are. RUN can be the name of a loop: its newest run.
The runs may be of different loops. A run and a fork of it are compared from the step on that the fork began with.

In the table of steps, = means the same, ! that a state came to something else, < and > that only the first, or only the
second run was there. The runs need not differ: that, too, exits with 0.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
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

func runDiff(ctx context.Context, a *app, o diffOptions) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var kinds align.Kinds
	d := views.Comparison{All: o.all}
	for i, name := range []string{o.a, o.b} {
		run, err := lookup.OneRun(ctx, f, name)
		if err != nil {
			return err
		}
		if i == 1 && run.ID == d.Sides[0].Run.ID {
			return usageError{fmt.Sprintf("%s and %s are the same run, %s", o.a, o.b, run.ID), "loops diff --help"}
		}
		d.Steps[i] = align.NewSteps(&kinds)
		if d.Sides[i], err = lookup.Path(ctx, f, run, &inspect.Reader{Done: d.Steps[i].Add}, a.damaged); err != nil {
			return err
		}
		if d.Memory[i], err = store.MemoryOf(ctx, run); err != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("What run %s had captured cannot be read: %v", run.ID, err))
		}
	}
	d.Compare()
	if o.json {
		return d.WriteJSON(a.out)
	}
	return d.Print(a.page())
}
