package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

func newStatusCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status [NAME|RUN]",
		Aliases: []string{"st"},
		Short:   "Show a run's status",
		Long: `status shows the run RUN, or the one of the loop NAME that is running, or its newest one: whether it lives, where it is,
what it has used, how it was judged last and why, which limit it is nearest to, what it waits for, and what to do next.
A loop whose run waits in the queue is shown as queued. A run whose owner died shows as interrupted; nothing is changed.

Without an argument it shows every run that is running or can be resumed, in a few lines each.

The time that a run is idle is that since its last event, or the last line its action printed. Limits are named by how
much of them is used: the first is the one it is nearest to.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops status
  loops status fix
  loops status fix-20261121T103405 --json`,
		Args: arguments(0, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return runStatusAll(cmd.Context(), a, asJSON)
			}
			return runStatus(cmd.Context(), a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object; without an argument, an array")
	return cmd
}

func runStatus(ctx context.Context, a *program, arg string, asJSON bool) error {
	return a.ask(func(s *app.Service) error {
		status, err := s.Status(ctx, arg)
		if err != nil {
			return err
		}
		if asJSON {
			err = terminal.WriteJSON(a.out, status.Object())
		} else {
			status.Print()
		}
		return joined([]error{err, status.Unread()})
	})
}

// runStatusAll prints the status of every run that is open.
func runStatusAll(ctx context.Context, a *program, asJSON bool) error {
	return a.ask(func(s *app.Service) error {
		all, err := s.Statuses(ctx, asJSON)
		if err != nil {
			return err
		}
		if asJSON {
			err = terminal.WriteJSON(a.out, all.Objects())
		} else {
			all.Print()
		}
		return joined([]error{err, all.Unread()})
	})
}
