package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/live"
	"loops/internal/view"
)

type scrubOptions struct{ all, dryRun, json bool }

func newScrubCommand(a *program) *cobra.Command {
	var o scrubOptions
	cmd := &cobra.Command{
		Use:   "scrub [RUN...]",
		Short: "Replace secrets in what is recorded of runs",
		Long: `scrub replaces secrets in the records of the runs RUN, or with --all of all runs, by placeholders such as ***(GITHUB_TOKEN):
in events, memory, commands and definitions, in the files of their folders and in their logs. Secrets are texts with the shape of
a token, the values of names under secrets in the settings, and of those that the loops of the runs name; the commands that
print values are called. It prints which secrets were where, never a value.

scrub can be killed: each record is as it was or as it is to be, and the next scrub does the rest. A run that is running is refused.
One that can be resumed still can: what its actions need is kept in the file .sealed of its folder. Files that are no
texts are named and left, and so are copies elsewhere: bundles, snapshots of files, backups, and what PostgreSQL keeps until
it is vacuumed. A secret that was on record is best replaced where it comes from.` +
			exitHelpOf(exitMeaning{
				Code: exitOK,
				Text: "there are no secrets in what was looked through, apart from files that are named",
			},
				exitMeaning{Code: exitFailed, Text: "a record could not be scrubbed"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitInvalid, Text: "the value of a secret cannot be had"},
				exitMeaning{Code: exitNotFound, Text: "no such run"},
				exitMeaning{Code: exitConflict, Text: "a run is running; the others were scrubbed"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops doctor --secrets     which runs have secrets on record
  loops scrub fix-20261121T103405
  loops scrub --all --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.all == (len(args) > 0) {
				return usageError{"scrub takes RUN, the id of a run, or --all", "loops scrub --help"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runScrub(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "all runs of the project that are not running")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what was found, and change nothing")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runScrub(ctx context.Context, a *program, o scrubOptions, args []string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	shown := live.WatchProgress(e, a.meter("Scrubbing", o.json, nil))
	done, err := e.Scrub(ctx, engine.ScrubRequest{Runs: args, All: o.all, DryRun: o.dryRun})
	shown()
	if err = a.refused(err); err != nil && len(done) == 0 {
		return err
	}
	return errors.Join(err, view.PrintScrubbed(a.page(), p, done, o.dryRun, o.json))
}
