package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/engine"
	"loops/internal/inspect"
	"loops/internal/ui"
)

func newRetryNowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry-now NAME|RUN",
		Short: "End the wait of a run now",
		Long: `retry-now ends the current wait of the run RUN, or of every run of the loop NAME: for a rate limit, after a
failure of an agent host, or between states. The run continues at once, also on another machine that shares the
database. Where several branches or items of a run wait, each call ends one wait and says whose. loops status shows
what a run waits for.` + exitcode.Help(exitcode.OK, exitcode.Failed, exitcode.Usage, exitcode.NotFound, exitcode.Record),
		Example: `  loops retry-now fix
  loops retry-now fix-20261121T103405`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryNow(cmd.Context(), a, args[0]) },
	}
}

func runRetryNow(ctx context.Context, a *app, arg string) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Wake(ctx, arg, func(e engine.Effect) { ui.SayLine(a.out, wokenText(e)) })
}

func wokenText(s engine.Effect) string {
	who := "it"
	if s.Path != "" {
		who = inspect.PlaceText(s.Path)
	}
	text := fmt.Sprintf("Woke %s (pid %d): %s waited for %s.", s.Before.ID, s.Before.Owner.PID, who, inspect.WaitText(s.Wait))
	switch {
	case s.Others == 1:
		text += " The run has another wait; each call ends one."
	case s.Others > 1:
		text += fmt.Sprintf(" The run has %d other waits; each call ends one.", s.Others)
	}
	return text
}
