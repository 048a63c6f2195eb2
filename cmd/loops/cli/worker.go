package cli

import (
	"context"
	"fmt"
	"os/signal"

	"github.com/spf13/cobra"

	"loops/engine/trigger"
	"loops/internal/terminal"
	"loops/internal/worker"
)

func newWorkerCommand(a *program) *cobra.Command {
	o := worker.Options{Version: buildVersion()}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run submitted runs until stopped",
		Long: `worker takes submitted runs of a queue (loops submit), each in a process of its own, until SIGTERM or Ctrl-C. Then it stops
their actions, hands them to other workers and ends within a second. When a worker is killed its runs stop, and other workers
continue them; when a worker cannot be heard of for as long as a lease is (--store ...?lease=30s), others take its runs over.

It works in the project of this folder, whose files its runs change, and runs only loops that are there as they were
submitted. It needs no settings but the database. In a folder of no project, or with files.mode: git, it works in work
trees of the repository files.remote instead, where the files of runs are kept, too. A run that waits (wait, ask) takes no slot. What a run prints is kept
in .loops/logs. A user who may submit runs commands as the user of the worker: docs/machines.md.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		Example: `  loops worker
  loops worker --queue nightly --slots 4 --label gpu`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), a, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Queue, "queue", trigger.DefaultQueue, "the `NAME` of the queue")
	flags.IntVar(&o.Slots, "slots", 1, "carry `N` runs at once")
	flags.StringSliceVar(&o.Labels, "label", nil, "take runs that need this `LABEL`, too, or several")
	return cmd
}

func runWorker(ctx context.Context, a *program, o worker.Options) error {
	if err := trigger.CheckQueue(o.Queue); err != nil {
		return usageError{"--queue: " + err.Error(), "loops worker --help"}
	}
	if o.Slots < 1 || o.Slots > 1000 {
		return usageError{fmt.Sprintf("--slots %d: expected 1 to 1000", o.Slots), "loops worker --help"}
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	o.Env, o.Project, o.Store = a.Env, a.dir, a.store
	o.Say = func(format string, args ...any) { terminal.Say(a.Err, format+"\n", args...) }
	return a.refused(worker.Run(ctx, p, o))
}
