package cli

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
)

// stopWait is how long stop waits for a run to end, unless told: longer than an action may take to end after TERM.
const stopWait = 15 * time.Second

// killWait is how long stop waits for a process that it killed.
const killWait = 5 * time.Second

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
		Short: "Stop a run that goes on",
		Long: `stop asks the run RUN, every run of the loop NAME that goes on, or with --all every run of the project, to stop: it sends
SIGTERM to the process that owns the run, which ends its action, records the run as interrupted and exits with 143. Its
action has five seconds to end before it is killed.

A process that has not ended after --grace is killed. stop then ends what the action has left running, which carries the
mark of the run, and records the run as interrupted. No other process is ever signalled: the owner is told from others by
its lock, or its pid and its start; one of little-loops by its command line. One on another machine or in another PID
namespace, such as a container, cannot be seen, and is stopped there. The run can be resumed.

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
	flags.DurationVar(&o.grace, "grace", stopWait, "`TIME` that a run has to end before its process is killed")
	flags.BoolVar(&o.json, "json", false, "print a JSON array of the runs that were stopped, after those that were taken out of the queue")
	return cmd
}

func runStop(ctx context.Context, a *app, o stopOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	// Who waits would begin when the runs end.
	taken, err := a.takeOutAll(ctx, p.Queue(), queuedAs(f, o.name), o.json)
	errs := []error{err}
	live, err := goingOn(ctx, f, o.name, "stop")
	if err != nil && (!isOfKind(err, engine.NotFound) || len(taken) == 0) {
		errs = append(errs, err)
	}
	// All are told before one is waited for, and one that cannot be stopped does not keep the others going.
	asked := live[:0:0]
	for _, r := range live {
		if err := askToStop(store, r); err != nil {
			errs = append(errs, err)
			continue
		}
		asked = append(asked, r)
	}
	limit := time.Now().Add(o.grace)
	var ended []stoppedRun
	for _, r := range asked {
		s, err := finishStop(ctx, f, r, limit, o.grace)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if ended = append(ended, s); !o.json {
			ui.SayLine(a.out, s.text(a, o.grace))
		}
	}
	if o.json {
		errs = append(errs, ui.WriteJSON(a.out, append(taken, ui.List(ended, func(s stoppedRun) any {
			r := s.Run
			return value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", int64(s.pid), "stopped", r.Status.Resumable(), "killed", s.killed, "status", string(r.Status), "current_state", r.State)
		})...)))
	}
	return joined(errs)
}

// A stoppedRun is a run that was asked to stop, as it is when its process has ended.
type stoppedRun struct {
	persistence.Run
	pid    int // of that process; the record has no owner any more
	killed bool
}

// text says what became of the run.
func (s stoppedRun) text(a *app, grace time.Duration) string {
	switch {
	case s.killed:
		return fmt.Sprintf("Killed %s (pid %d), which did not stop within %s: %s in state %s. Resume with: %s", s.ID, s.pid, phrase.Duration(grace), s.Status, s.State, a.command("resume", string(s.ID)))
	case s.Status.Resumable():
		return fmt.Sprintf("Stopped %s (pid %d): %s in state %s. Resume with: %s", s.ID, s.pid, s.Status, s.State, a.command("resume", string(s.ID)))
	}
	return fmt.Sprintf("Run %s (pid %d) ended before it could be stopped: %s in state %s.", s.ID, s.pid, s.Status, s.State)
}

// finishStop waits until a run has ended that was asked to, and kills its process if it has not by limit.
func finishStop(ctx context.Context, f project.Finder, r persistence.Run, limit time.Time, grace time.Duration) (stoppedRun, error) {
	now, ended, err := awaitStop(ctx, f, r, limit)
	if err == nil && !ended {
		now, err = killRun(ctx, f, r, grace)
	}
	return stoppedRun{now, r.Owner.PID, !ended}, err
}

// askToStop sends SIGTERM to the owner of a run, and to it alone.
func askToStop(store *project.Records, r persistence.Run) error {
	return tellRun(store, r, "stop", syscall.SIGTERM, syscall.SIGCONT) // one that was stopped (Ctrl-Z) sees TERM only then
}

// awaitStop waits until nobody holds a run, and returns it as it is then and whether that came about.
func awaitStop(ctx context.Context, f project.Finder, r persistence.Run, limit time.Time) (now persistence.Run, ended bool, err error) {
	for ; time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		runs, err := f.Run(ctx, r.Loop, string(r.ID))
		if err != nil {
			return r, false, f.Store.Failed(err)
		}
		if len(runs) == 0 {
			return r, true, nil // never recorded anything
		}
		if r = runs[0]; !project.Alive(r) {
			return r, true, nil
		}
	}
	return r, false, nil
}

// killRun kills the process of a run that does not end, ends what its action left running, and records the run as
// interrupted. A process that is no runner of this program, such as one of the reference tool, is left alone.
func killRun(ctx context.Context, f project.Finder, r persistence.Run, grace time.Duration) (persistence.Run, error) {
	did := fmt.Sprintf("run %s did not stop within %s", r.ID, phrase.Duration(grace))
	if outOfSight(r) || r.Foreign || !r.Held {
		return r, failure(engine.Failed, "%s; its process (pid %d) still runs, and is not one that stop may kill. Look at what its action does, or end it: kill -9 %d (it stays resumable)", did, r.Owner.PID, r.Owner.PID)
	}
	if err := tellRun(f.Store, r, "kill", syscall.SIGKILL); err != nil {
		return r, failure(engine.Failed, "%s; %s", did, oneLine(err))
	}
	now, ended, err := awaitStop(ctx, f, r, time.Now().Add(killWait))
	if err == nil && !ended {
		err = failure(engine.Failed, "%s; its process (pid %d) was killed and is still there: it hangs in the kernel", did, r.Owner.PID)
	}
	if err != nil {
		return r, err
	}
	e := engine.New(f.Project, engine.Options{})
	defer e.Close()
	_, err = e.Reconcile(ctx, r.ID)
	if err != nil {
		return now, failure(engine.Failed, "%s; its process (pid %d) was killed, but what is left is not tidied up: %s; fix that, then: loops sweep", did, r.Owner.PID, oneLine(err))
	}
	if runs, err := f.Run(ctx, r.Loop, string(r.ID)); err == nil && len(runs) > 0 {
		now = runs[0]
	}
	return now, nil
}
