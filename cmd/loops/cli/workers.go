package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/worker"
)

func newWorkersCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers, and what each carries",
		Long: `workers lists the workers that share the database of the project: queue, labels, slots, the runs that each carries, when it
was heard of last, its version and what kept it from something last. One that is gone was not heard of for half a lease;
others have its runs then. A worker that was stopped is not listed.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		Example: "  loops workers\n  loops workers --json | jq -r '.[] | select(.gone) | .host'",
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runWorkers(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON array")
	cmd.AddCommand(newDrainCommand(a))
	return cmd
}

func newDrainCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "drain WORKER...",
		Short: "Stop workers; others continue their runs",
		Long: `drain asks workers, wherever they are, to end as by SIGTERM: they stop their actions, and other workers continue their runs. A
worker that is heard of ends within two seconds; one that is frozen does when it wakes up.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops workers drain build1-4711-ABCDEF
  loops workers --json --jq '.[] | select(.host == "build1") | .worker_id' | xargs loops workers drain`,
		Args: arguments(1, -1, "WORKER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.project()
			if err != nil {
				return err
			}
			asked, err := worker.Drain(cmd.Context(), p, args, cmp.Or(a.sender(), "a user"))
			if asJSON {
				return errors.Join(
					terminal.WriteJSON(a.out,
						terminal.List(asked, func(id string) any { return api.Drained{ID: id} })), a.refused(err))
			}
			for _, id := range asked {
				terminal.SayLine(a.out, "Worker "+id+" is asked to end.")
			}
			return a.refused(err)
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON array")
	return cmd
}

func runWorkers(ctx context.Context, a *program, asJSON bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	all, err := worker.List(ctx, p)
	if err != nil {
		return a.refused(err)
	}
	if asJSON {
		return terminal.WriteJSON(a.out, view.Workers(all))
	}
	a.page().PrintWorkers(all)
	return nil
}
