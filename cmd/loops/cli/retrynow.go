package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

func newRetryNowCommand(a *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "retry-now NAME|RUN",
		Short: "End the wait of a run now",
		Long: `retry-now ends the current wait of the run RUN, or of every run of the loop NAME: for a rate limit, after a
failure of an agent host, or between states. The run continues at once, also on another machine that shares the
database. Where several branches or items of a run wait, each call ends one wait and says whose. loops status shows
what a run waits for.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops retry-now fix
  loops retry-now fix-20261121T103405`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryNow(cmd.Context(), a, args[0], json) },
	}
	cmd.Flags().BoolVarP(&json, "json", "j", false, "print a JSON array")
	return cmd
}

func runRetryNow(ctx context.Context, a *program, arg string, json bool) error {
	return a.ask(func(s *app.Service) error {
		woken := []any{}
		err := s.Wake(ctx, arg, func(e engine.Effect) {
			if woken = append(woken, view.Woken(e)); !json {
				terminal.SayLine(a.out, view.WokenText(e))
			}
		})
		if json && len(woken) > 0 {
			return a.withJSON(woken, err)
		}
		return err
	})
}
