package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

func newPromoteBaselineCommand(a *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "promote-baseline NAME|RUN",
		Short: "Make a run's output the baseline of its comparators",
		Long: `promote-baseline makes the output of the run RUN, or of the newest run of the loop NAME, the baseline of later runs:
for each state with a comparator, the output that was last judged is written to output.txt in its baseline_path. Check
the run first: loops logs NAME.

A state that the run was not in keeps its baseline. States of sub-loops are not looked at.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "done"},
			exitMeaning{Code: exitFailed, Text: "the run was in no such state, or the file cannot be written"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or an id that several runs have"},
			exitMeaning{Code: exitNotFound, Text: "no such loop, run or database of runs"},
			exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops promote-baseline summarize
  loops promote-baseline summarize-20261121T103405`,
		Args: arguments(1, 1, "NAME of a loop, or a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPromoteBaseline(cmd.Context(), a, args[0], json)
		},
	}
	cmd.Flags().BoolVarP(&json, "json", "j", false, "print a JSON array")
	return cmd
}

func runPromoteBaseline(ctx context.Context, a *program, arg string, json bool) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := app.OneRun(ctx, f, arg)
	if err != nil {
		return err
	}
	l, _ := f.Ran(run, store.DefinitionOf(ctx, run))
	if l == nil {
		return failure(engine.NotFound, "the loop of run %s is no longer known", run.ID)
	}
	files, err := app.PromoteBaseline(ctx, p, store, run, l)
	if json && (len(files) > 0 || err == nil) {
		return a.withJSON(terminal.List(files, func(f app.BaselineFile) any { return f.Object(string(run.ID)) }), err)
	}
	for _, f := range files {
		terminal.Say(a.out, "%s is what run %s printed in state %s (%s).\n", f.Name, run.ID, f.State,
			humanize.Bytes(int64(f.Size)))
	}
	return err
}
