package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/view"
)

func newReceiptCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "receipt NAME|RUN",
		Short: "What a completed run came to, and by what",
		Long: `receipt prints what is on record of how the run RUN, or the newest run of the loop NAME, completed: the tree of git with the files as it left
them, the checks that decided with their commands, verdicts and hashes of their outputs, who judged, what it spent, and what was
protected. Checks that decided are those with the key check, or else all verdicts after the last prompt; of a run without prompts the last one.

It is signed where there is a key (loops sign --new-key). A run that did not complete, and one of an earlier version, has none.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the receipt was printed, or that there is none"},
				exitMeaning{Code: exitInvalid, Text: "its signature is not of this receipt"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "no such run"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops receipt fix
  loops receipt fix-20261121T103405 --json`,
		Args: arguments(1, 1, "NAME or RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReceipt(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
}

func newVerifyCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify NAME|RUN",
		Short: "Repeat the checks that decided how a run completed",
		Long: `verify repeats the scripts and evaluators of the receipt of the run RUN, or of the newest run of the loop NAME (see receipt), and says of each
whether it comes to the same verdict and exit code. Prompts and judges are not repeated, and verify says so.

Each script runs on a clean checkout of the files that the run left, in a temporary folder that is a repository of its own with one commit; the
files of a check are those with which the run began. It has no network and changes no files elsewhere, as far as this machine can enforce that;
what it cannot is printed. What git ignored is not there: a check that needs it comes to something else. That the output has another hash is
printed, and is no difference: many print times.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "same: each check that was repeated came to the same"},
				exitMeaning{Code: exitFailed, Text: "different: at least one did not; or a check could not be started"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{
					Code: exitInvalid,
					Text: "no check can be repeated, or the signature is not of this receipt",
				},
				exitMeaning{
					Code: exitNotFound,
					Text: "no such run, it has no receipt, or its files are not in this repository",
				},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops verify fix
  loops verify fix-20261121T103405 --json`,
		Args: arguments(1, 1, "NAME or RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
}

func runVerify(ctx context.Context, a *program, arg string, asJSON bool) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	v, err := e.Verify(ctx, arg)
	if err != nil {
		return a.refused(err)
	}
	if err := view.PrintVerification(a.page(), v, asJSON); err != nil {
		return err
	}
	if !v.Same() {
		return failure(engine.Failed, "run %s: different", v.Run.ID)
	}
	return nil
}

func runReceipt(ctx context.Context, a *program, arg string, asJSON bool) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	r, err := e.Receipt(ctx, arg)
	if err != nil {
		return a.refused(err)
	}
	if err := view.PrintReceipt(a.page(), r, asJSON); err != nil {
		return err
	}
	if err := r.Forged(); err != nil {
		return a.refused(err)
	}
	return nil
}
