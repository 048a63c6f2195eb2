package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

func newRetryNowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry-now NAME|RUN",
		Short: "End the wait of a run now",
		Long: `retry-now ends the wait that the run RUN is in, or those of every run of the loop NAME: for a rate limit, after a failure
of an agent host, or between states. The run goes on at once, also on another machine that shares the database; loops
status shows what it waits for.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops retry-now fix
  loops retry-now fix-20261121T103405`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryNow(cmd.Context(), a, args[0]) },
	}
}

func runRetryNow(ctx context.Context, a *app, arg string) error {
	e, store, err := a.controller(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	f := store.Finder()
	runs, newest, err := f.Live(ctx, arg)
	if err != nil {
		return store.Failed(err)
	}
	if newest == nil {
		return nothingTo(ctx, f, "wake", arg, "")
	}
	live := slices.DeleteFunc(runs, func(r persistence.Run) bool { return !project.Alive(r) })
	if len(live) == 0 {
		more := ""
		if newest.Resumable {
			more = "; go on with it: " + views.GoOn(ctx, a.page(), store, *newest)
		}
		return failure(engine.NotFound, "nothing to wake: run %s is %s%s", newest.ID, inspect.StatusWord(*newest), more)
	}
	var errs []error
	woken, busy := 0, live[0]
	for _, r := range live {
		s, err := e.Ask(ctx, r.ID, engine.Command{Kind: persistence.CommandWake})
		a.tellUnrecorded(s)
		refusal, ok := errors.AsType[*engine.Refusal](err)
		switch {
		case ok && refusal.Kind == engine.NotFound:
			busy = r
		case err != nil:
			errs = append(errs, a.refused(err))
		default:
			woken++
			ui.SayLine(a.out, wokenText(s))
		}
	}
	if woken == 0 && len(errs) == 0 {
		return failure(engine.NotFound, "nothing to wake: run %s does not wait; it is in state %s", busy.ID, busy.State)
	}
	return joined(errs)
}

func wokenText(s engine.Effect) string {
	return fmt.Sprintf("Woke %s (pid %d): it waited for %s.", s.Before.ID, s.Before.Owner.PID, inspect.WaitText(s.Wait))
}
