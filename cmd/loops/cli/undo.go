package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/view"
)

type undoOptions struct {
	to                        string
	force, dryRun, list, json bool
}

func newUndoCommand(a *program) *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo NAME|RUN",
		Short: "Put the files back that a run changed",
		Long: `undo brings the files of the run RUN, or of the newest run of the loop NAME, to what they were before its first action, and
prints each file that it adds (+), changes (~) or deletes (-). With --to, they are as they were before a step. It works
where the files were kept: for runs with a work tree of their own, and where the loop or --snapshots says git.

Before anything is changed, the files as they are now are kept: undo RUN --to found has them back. Neither HEAD nor the index nor
the stash of the repository is touched, and commits of the run stay. Ignored files are left alone, unless the loop includes them.
undo changes only files that a snapshot has. The record of the run stays as it is; to do a step again with the files it had,
see --files of loops fork.

A run that is running is refused, and so is one whose files differ from its last snapshot, because others may have changed them:
undo names them, and --force takes these changes back as well.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the files are as they were, or were so before"},
				exitMeaning{Code: exitFailed, Text: "files cannot be read or written, or git failed"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{
					Code: exitNotFound,
					Text: "no such run, its files were not kept, or its work tree is gone; nothing was changed",
				},
				exitMeaning{
					Code: exitConflict,
					Text: "a run is running, or files were changed since and --force is missing; nothing was changed",
				},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops undo fix --dry-run
  loops undo fix --to 3
  loops undo fix-20261121T103405 --to 2/lint/1:after
  loops undo fix --to found`,
		Args: arguments(1, 1, "NAME or RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runUndo(cmd.Context(), a, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", engine.UndoStart, "go back to `STEP`, as history shows it: before it, or with "+
		":after after it; or start, last (after the last action), found (before the last undo)")
	flags.BoolVarP(&o.force, "force", "f", false, "take back as well what was changed since the last snapshot")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would change, and change nothing")
	flags.BoolVar(&o.list, "list", false, "print the snapshots that there are, and change nothing")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runUndo(ctx context.Context, a *program, o undoOptions, arg string) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	if o.list {
		all, err := e.Snapshots(ctx, arg)
		if err != nil {
			return a.refused(err)
		}
		return view.PrintSnapshots(a.page(), all, o.json)
	}
	done, err := e.Undo(ctx, engine.UndoRequest{Run: arg, To: o.to, Force: o.force, DryRun: o.dryRun})
	if err != nil {
		return a.refused(err)
	}
	return view.PrintUndone(a.page(), done, o.dryRun, o.json)
}
