package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
)

type rmOptions struct{ force, json bool }

func newRmCommand(a *program) *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:   "rm RUN...",
		Short: "Remove runs",
		Long: `rm permanently removes the runs RUN: their events, memory and definition, their working folders, and their logs where they
ran in the background. It reports the space that was freed. A running run is never removed, and one that can be resumed
only with --force. Unless every RUN can be removed, none is.

If rm is killed, each run is either whole or gone; the next rm, prune or sweep removes what is left of its files. In
a database the space is used again for other runs; a SQLite file does not shrink. A run that was copied to
another store has one working folder and one log with the copy: rm removes them.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "every run is gone"},
				exitMeaning{Code: exitFailed, Text: "a run is gone, but not all of its files"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "no such run, or no database of runs there; nothing was removed"},
				exitMeaning{
					Code: exitConflict,
					Text: "a run is running, or can be resumed and --force is missing; nothing was removed",
				},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops rm fix-20261121T103405
  loops rm fix-20261121T103405 fix-20261121T110000 --force`,
		Args: arguments(1, -1, "RUN, the id of a run"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRm(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "remove also runs that could be resumed")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runRm(ctx context.Context, a *program, o rmOptions, args []string) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	gone, err := e.Remove(ctx, engine.RemoveRequest{Runs: args, Force: o.force})
	nothing := errors.Is(err, engine.ErrNothingRemoved)
	if err = a.refused(err); nothing {
		return err
	}
	finished, gone := view.CutShort(gone)
	view.TellTrees(a.page(), gone)
	if o.json {
		return errors.Join(err,
			terminal.WriteJSON(a.out, api.Removed{
				Removed: view.RemovedRuns(gone), Bytes: view.Total(gone),
				Finished: view.RemovedIDs(finished),
			}))
	}
	view.TellFinished(a.page(), finished)
	for _, r := range gone {
		terminal.Say(a.out, "Removed %s (%s, %s).\n", r.ID, r.Status, humanize.Bytes(r.Bytes))
	}
	return err
}
