package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
)

type storeCopyOptions struct{ json, quiet bool }

func newStoreCopyCommand(a *program) *cobra.Command {
	var o storeCopyOptions
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy all runs of a store to another",
		Long: `copy copies the runs that the project has in the store FROM, with their histories, memories and definitions, to the store TO, which
is made if
need be. Both are dir, sqlite:PATH or postgres://USER@HOST/NAME. A run keeps its id; each is there whole or not at all, and
after copying it both stores are read and compared: the count of its events, and the SHA-256 of events and memory.

Nothing in TO is overwritten. A run that already exists is compared; if it is another one, that is an error. So copy can be
stopped at any time, and continues when it is called again. A running run is left out, and copy exits with 9: stop the run, or
copy again later. A damaged run is not copied.

FROM stays as it is. Receipts are copied with the memory. Not copied are the folders of runs, with sealed secrets, and the
snapshots of files, which are refs of git: both stores use the same. So resume and remove a run in one of the stores only.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "every run is in both stores"},
				exitMeaning{Code: exitFailed, Text: "a run in TO is another one, or a copy is not what it should be"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "there is no such database to copy from"},
				exitMeaning{Code: exitConflict, Text: "a running run was left out"},
				exitMeaning{Code: exitRecord, Text: "a store cannot be used, or a run is damaged"}),
		Example: `  loops store copy dir sqlite:.loops/runs.db
  loops store copy sqlite:.loops/runs.db postgres://me@db.example/runs`,
		Args: arguments(2, 2, "FROM and TO, where runs are recorded"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStoreCopy(cmd.Context(), a, o, args[0], args[1])
		},
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array of the runs")
	flagQuiet(cmd.Flags(), &o.quiet)
	return cmd
}

func runStoreCopy(ctx context.Context, a *program, o storeCopyOptions, fromArg, toArg string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	fromAt, err := p.Locate(fromArg, "FROM")
	if err != nil {
		return err
	}
	toAt, err := p.Locate(toArg, "TO")
	if err != nil {
		return err
	}
	if fromAt == toAt {
		return usageError{"FROM and TO are the same store", "loops store copy --help"}
	}
	if path, missing := project.MissingFile(fromAt); missing {
		return failure(engine.NotFound, "there is no database %s to copy from", p.Short(path))
	}
	shown := a.meter("Copying runs", o.quiet || o.json, nil)
	return app.CopyRuns(ctx, p, fromAt, toAt, a.page(), o.json, shown.Set, shown.End)
}
