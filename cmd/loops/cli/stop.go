package cli

import (
	"context"
	"fmt"
	"time"

	"loops/engine"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/queue"
	"loops/internal/ui"
	"loops/persistence"
)

type stopOptions struct {
	name  string // "" with all
	all   bool
	json  bool
	grace time.Duration
}

func newStopCommand(a *app) *cobra.Command {
	var o stopOptions
	cmd := &cobra.Command{
		Use:   "stop NAME|RUN",
		Short: "Stop a running run",
		Long: `stop asks the run RUN, every run of the loop NAME that goes on, or with --all every run of the project, to stop. That
is recorded for the run, wherever the process that owns it is: on this machine, in a container, or on another machine
that shares the database. The process ends its action, records the run as user_stopped and exits with 143. The action
has five seconds to end before it is killed. The run can be resumed.

A process of this machine that has not ended after --grace is killed. stop then ends what the action has left running,
which carries the mark of the run, and records the run as interrupted. Where the stop cannot be recorded, because the
disk is full or the database is away, a process of this machine is sent SIGTERM instead, and stop says so. No other
process is ever signalled: the owner is told from others by its lock, or its pid and its start. A run of little-loops
is sent SIGTERM; its process is known by its command line.

Those of the loop NAME that wait in the queue, and with --all everybody there, are taken out of it first, as by loops
queue remove: nothing of them was run. So none of them begins when the runs that are stopped give up what they locked.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stop fix
  loops stop fix-20261121T103405
  loops stop --all --grace 1m`,
		Args: oneOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.name = firstOf(args); o.grace <= 0 {
				return usageError{fmt.Sprintf("--grace %s: expected a time above 0, such as 30s", o.grace), "loops stop --help"}
			}
			return runStop(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "stop every run of the project that goes on, and empty its queue")
	flags.DurationVar(&o.grace, "grace", engine.StopGrace, "`TIME` that a run has to end before its process is killed")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array of the runs that were stopped, after those that were taken out of the queue")
	return cmd
}

func runStop(ctx context.Context, a *app, o stopOptions) error {
	e, store, err := a.controller(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	f := store.Finder()
	// Who waits would begin when the runs end.
	taken, err := queue.TakeOut(ctx, e.Project().Queue(), queuedAs(f, o.name), a.outUnless(o.json))
	errs := []error{err}
	live, err := goingOn(ctx, f, o.name, "stop")
	if err != nil && (!isOfKind(err, engine.NotFound) || len(taken) == 0) {
		errs = append(errs, err)
	}
	var ended []engine.Effect
	errs = append(errs, a.askAll(ctx, e, live, engine.Command{Kind: persistence.CommandStop, Grace: o.grace}, func(s engine.Effect) {
		if ended = append(ended, s); !o.json {
			ui.SayLine(a.out, stoppedText(a, s, o.grace))
		}
	}))
	if o.json {
		errs = append(errs, a.reply(append(taken, ui.List(ended, func(s engine.Effect) any {
			r := s.Run
			return value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", int64(s.Before.Owner.PID), "stopped", r.Status.Resumable(), "killed", s.Killed, "status", string(r.Status), "current_state", r.State)
		})...)))
	}
	return joined(errs)
}

// controller returns the engine by which a command tells runs what to do, and the records in which it finds them. The caller
// closes the engine, and the records with it.
func (a *app) controller(ctx context.Context) (*engine.Engine, *project.Records, error) {
	e, err := a.engine()
	if err != nil {
		return nil, nil, err
	}
	store, err := e.Records(ctx)
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	return e, store, nil
}

// askAll asks the same of several runs, of all of them before one is waited for, and calls done with what it came to, in the
// order of the runs. One that cannot do it does not keep the others from it.
func (a *app) askAll(ctx context.Context, e *engine.Engine, runs []persistence.Run, c engine.Command, done func(engine.Effect)) error {
	type answer struct {
		effect engine.Effect
		err    error
	}
	answers := make([]chan answer, len(runs))
	for i, r := range runs {
		answers[i] = make(chan answer, 1)
		go func() {
			effect, err := e.Ask(ctx, r.ID, c)
			answers[i] <- answer{effect, err}
		}()
	}
	var errs []error
	for _, ch := range answers {
		got := <-ch
		a.tellUnrecorded(got.effect)
		if got.err != nil {
			errs = append(errs, a.refused(got.err))
			continue
		}
		done(got.effect)
	}
	return joined(errs)
}

// tellUnrecorded says that a signal had to do.
func (a *app) tellUnrecorded(s engine.Effect) {
	if s.Unrecorded != nil {
		ui.SayLine(a.Err, fmt.Sprintf("loops: this cannot be recorded for run %s (%s); its process (pid %d) was sent %s instead", s.Before.ID, oneLine(s.Unrecorded), s.Before.Owner.PID, s.Signal))
	}
}

// stoppedText says what became of a run that was asked to stop.
func stoppedText(a *app, s engine.Effect, grace time.Duration) string {
	r, pid := s.Run, s.Before.Owner.PID
	switch {
	case s.Killed:
		return fmt.Sprintf("Killed %s (pid %d), which did not stop within %s: %s in state %s. Resume with: %s", r.ID, pid, phrase.Duration(grace), r.Status, r.State, a.command("resume", string(r.ID)))
	case r.Status.Resumable():
		return fmt.Sprintf("Stopped %s (pid %d): %s in state %s. Resume with: %s", r.ID, pid, r.Status, r.State, a.command("resume", string(r.ID)))
	}
	return fmt.Sprintf("Run %s (pid %d) ended before it could be stopped: %s in state %s.", r.ID, pid, r.Status, r.State)
}
