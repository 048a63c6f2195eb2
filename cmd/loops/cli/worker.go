package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/engine/notify"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/terminal"
	"loops/internal/web"
	"loops/internal/worker"
)

func newWorkerCommand(a *program) *cobra.Command {
	o := workerOptions{Options: worker.Options{Version: buildVersion()}}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run submitted runs until stopped",
		Long: `worker takes submitted runs of a queue (loops submit), each in a process of its own, until SIGTERM or Ctrl-C. Then it stops
their actions, hands them to other workers and ends within a second. When a worker is killed its runs stop, and other workers
continue them; when a worker cannot be heard of for as long as a lease is (--store ...?lease=30s), others take its runs over.

It works in the project of this folder, whose files its runs change, and runs only loops that are there as they were
submitted. It needs no settings but the database. In a folder of no project, or with files.mode: git, it works in work
trees of the repository files.remote instead, where the files of runs are kept, too. A run that waits (wait, ask) takes no slot. What a run prints is kept
in .loops/logs. With --metrics and serve.metrics: true it answers at /metrics with what Prometheus reads of the runs it
carries: docs/observe.md. A user who may submit runs commands as the user of the worker: docs/machines.md.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		Example: `  loops worker
  loops worker --queue nightly --slots 4 --label gpu`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), a, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Queue, "queue", trigger.DefaultQueue, "the `NAME` of the queue")
	flags.IntVar(&o.Slots, "slots", 1, "carry `N` runs at once")
	flags.StringVar(&o.metrics, "metrics", "", "answer at /metrics on `ADDR`, such as 127.0.0.1:9464")
	flags.StringSliceVar(&o.Labels, "label", nil, "take runs that need this `LABEL`, too, or several")
	return cmd
}

type workerOptions struct {
	worker.Options
	metrics string // the address of /metrics; "" = there is none
}

func runWorker(ctx context.Context, a *program, o workerOptions) error {
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
	o.Carried = &worker.Carried{}
	o.Suspended = notify.TellSuspended(p, a.notifierOptions())
	ctx, end := context.WithCancel(ctx)
	defer end()
	wait, err := a.workerMetrics(p, o).Open(ctx)
	if wrong, is := errors.AsType[*web.WrongSettingsError](err); is {
		return usageError{wrong.Why, "loops worker --help"}
	}
	err = a.refused(worker.Run(ctx, p, o.Options))
	end()
	wait()
	return err
}

func (a *program) workerMetrics(p *project.Project, o workerOptions) *web.WorkerMetrics {
	again := func() (*project.Project, error) {
		p, err := project.Open(a.dir, project.Options{Cwd: a.Dir, Env: a.Env, Store: a.store})
		if err != nil {
			return nil, err
		}
		return p.Everywhere(), nil
	}
	return &web.WorkerMetrics{
		Project: web.Project{Name: filepath.Base(p.Dir), Again: again}, Listen: o.metrics, Queue: o.Queue,
		Has: o.Carried.Has, At: o.Carried.At,
		Getenv: a.getenv, Say: func(line string) { o.Say("%s", line) },
	}
}
