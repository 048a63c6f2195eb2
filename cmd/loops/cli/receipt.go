package cli

import (
	"context"

	"github.com/spf13/cobra"

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
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the receipt was printed, or that there is none"}, exitMeaning{Code: exitInvalid, Text: "its signature is not of this receipt"},
				exitMeaning{Code: exitUsage, Text: "bad command line"}, exitMeaning{Code: exitNotFound, Text: "no such run"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops receipt fix
  loops receipt fix-20261121T103405 --json`,
		Args: arguments(1, 1, "NAME or RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReceipt(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
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
