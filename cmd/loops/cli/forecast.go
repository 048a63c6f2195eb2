package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

func newForecastCommand(a *program) *cobra.Command {
	var since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "forecast NAME",
		Short: "Show what a run of a loop may use",
		Long: `forecast says what a run of a loop may cost, how many tokens, steps and prompts it may use and how long it may take, by what its
ended runs used: the median, what 95 of 100 stay below, the most so far, and the budget of the loop. It is "unknown" below ten runs. Runs that
can be resumed are left out, and of costs those with a prompt whose cost is not known.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitRecord),
		Example: `  loops forecast fix
  loops forecast fix --since 30d --json`,
		Args: arguments(1, 1, "NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runForecast(cmd.Context(), a, args[0], since, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&since, "since", "S", "", "only runs that were active after `WHEN`: an age (45s, 30m, 1h, "+
		"7d) or a date")
	flags.BoolVarP(&asJSON, "json", "j", false, "print a JSON object")
	return cmd
}

func runForecast(ctx context.Context, a *program, name, since string, asJSON bool) error {
	return a.ask(func(s *app.Service) error {
		ctx, read := a.reading(ctx)
		defer read()
		f, err := s.Forecast(ctx, name, since)
		if read(); err != nil {
			return err
		}
		if asJSON {
			return terminal.WriteJSON(a.out, f)
		}
		return app.PrintForecast(a.out, f)
	})
}
