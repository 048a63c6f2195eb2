package worker

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/humanize"
	"loops/persistence"
)

// schedules fires the schedules of the loops in the worker's folder until ctx ends: a time that is due is
// submitted for workers of the default queue, of which one alone records it, with servers beside them. Workers
// of other queues fire none.
func (w *worker) schedules(ctx context.Context) {
	open := func() (*project.Project, error) {
		return project.Open(w.Project, project.Options{Cwd: w.project.Cwd, Env: w.Env, Store: w.Store})
	}
	watch := trigger.Watch{
		Open: open,
		Begin: func(ctx context.Context, r engine.Request, _ []string) (string, error) {
			p, err := open()
			if err != nil {
				return "", err
			}
			e := engine.New(p, engine.Options{Env: w.Env})
			defer e.Close()
			start := *r.Start
			start.Lock = engine.Lock{} // a worker tries again where the scope is taken
			run, err := Submit(ctx, e, start,
				persistence.Job{Queue: trigger.DefaultQueue, Priority: trigger.DefaultPriority})
			return string(run.ID), err
		},
		Say: func(text string) { w.Say("%s", text) },
		Tell: func(f trigger.Firing) {
			w.Say("The schedule of %s: its time of %s is %s.", f.Loop, humanize.Clock(f.At), f.State)
		},
	}
	watch.Run(ctx)
}
