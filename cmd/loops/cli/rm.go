package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/engine"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type rmOptions struct{ force, json bool }

func newRmCommand(a *app) *cobra.Command {
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
			exitcode.HelpOf(exitcode.Meaning{Code: exitcode.OK, Text: "every run is gone"}, exitcode.Meaning{Code: exitcode.Failed, Text: "a run is gone, but not all of its files"},
				exitcode.Meaning{Code: exitcode.Usage, Text: "bad command line"}, exitcode.Meaning{Code: exitcode.NotFound, Text: "no such run, or no database of runs there; nothing was removed"},
				exitcode.Meaning{Code: exitcode.Conflict, Text: "a run is running, or can be resumed and --force is missing; nothing was removed"},
				exitcode.Meaning{Code: exitcode.Record, Text: "the records of runs cannot be used"}),
		Example: `  loops rm fix-20261121T103405
  loops rm fix-20261121T103405 fix-20261121T110000 --force`,
		Args: arguments(1, -1, "RUN, the id of a run"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRm(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "remove also runs that could be resumed")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runRm(ctx context.Context, a *app, o rmOptions, args []string) error {
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
	finished, gone := views.CutShort(gone)
	views.TellTrees(a.page(), gone)
	if o.json {
		return errors.Join(err, ui.WriteJSON(a.out, value.NewMap("removed", ui.List(gone, views.RemovedObject), "bytes", views.Total(gone), "finished", ui.List(finished, views.RemovedID))))
	}
	views.TellFinished(a.page(), finished)
	for _, r := range gone {
		ui.Say(a.out, "Removed %s (%s, %s).\n", r.Run.ID, r.Run.Status, humanize.Bytes(r.Bytes))
	}
	return err
}
