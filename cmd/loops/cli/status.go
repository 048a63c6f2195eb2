package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/terminal"
	"loops/internal/view"
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
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	open, err := lookup.OpenNow(ctx, store)
	if err != nil {
		return err
	}
	waiting, err := lookup.InQueue(p)
	if err != nil {
		return err
	}
	objects := []any{}
	var shown []*inspect.Status
	for i, r := range open {
		v := lookup.Glimpse(ctx, f, r)
		if project.Alive(r) || i < briefRuns {
			v = lookup.Status(ctx, f, r, view.GoOn(ctx, a.page(), store, r))
		} else if asJSON {
			lookup.Remember(ctx, f, v)
		}
		shown = append(shown, v)
		if asJSON {
			objects = append(objects, a.page().Status(p, store, v, nil))
			continue
		}
		a.page().PrintBrief(v)
	}
	for _, w := range waiting {
		if asJSON {
			objects = append(objects, view.QueuedStatus(w))
			continue
		}
		a.page().PrintWaiter(p, w)
	}
	switch {
	case asJSON:
		err = terminal.WriteJSON(a.out, objects)
	case len(open)+len(waiting) == 0:
		terminal.SayLine(a.out, view.NoneOpen)
	}
	return joined([]error{err, lookup.UnreadRuns(shown)})
}

// briefRuns is the number of runs that can be resumed of which status prints everything: that takes its time.
const briefRuns = 20
