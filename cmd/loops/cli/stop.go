package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/proc"
	"loops/persistence"
)

// stopWait is how long stop waits for a run to end: longer than an action may take to end after TERM.
const stopWait = 15 * time.Second

func newStopCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stop NAME|RUN",
		Short: "Stop a run that goes on",
		Long: `stop asks the run RUN, or every run of the loop NAME that goes on, to stop: it sends SIGTERM to the process that owns the
run, which ends its action, records the run as interrupted and exits with 143. stop waits 15 seconds for that. The run
can be resumed.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops stop fix
  loops stop fix-20261121T103405`,
		Args:              arguments(1, 1, "NAME of a loop or id of a RUN"),
		ValidArgsFunction: a.completeLoops,
		RunE:              func(cmd *cobra.Command, args []string) error { return runStop(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of the runs that were stopped")
	return cmd
}

func runStop(ctx context.Context, a *app, arg string, asJSON bool) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := finder{p, store}
	runs, newest, err := f.live(ctx, arg)
	if err != nil {
		return store.failed(err)
	}
	if newest == nil {
		return failure(exitNotFound, "nothing to stop: %s has no recorded run", arg)
	}
	live := slices.DeleteFunc(runs, func(r persistence.Run) bool { return !alive(r) })
	if len(live) == 0 {
		return failure(exitNotFound, "nothing to stop: run %s is %s", newest.ID, statusWord(*newest))
	}
	// All are told before one is waited for, and one that cannot be stopped does not keep the others going.
	var errs []error
	asked := live[:0:0]
	for _, r := range live {
		if err := askToStop(r); err != nil {
			errs = append(errs, err)
			continue
		}
		asked = append(asked, r)
	}
	limit := time.Now().Add(stopWait)
	stopped := make([]persistence.Run, 0, len(asked))
	pids := make(map[persistence.ID]int64, len(asked)) // a run that has stopped has no owner
	for _, r := range asked {
		after, err := awaitStop(ctx, f, r, limit)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		stopped = append(stopped, after)
		pids[after.ID] = int64(r.Owner.PID)
		switch {
		case asJSON:
		case after.Status.Resumable():
			fmt.Fprintf(a.out, "Stopped %s (pid %d): %s in state %s. Resume with: %s\n", r.ID, r.Owner.PID, after.Status, after.State, a.command("resume", string(r.ID)))
		default:
			fmt.Fprintf(a.out, "Run %s (pid %d) ended before it could be stopped: %s in state %s.\n", r.ID, r.Owner.PID, after.Status, after.State)
		}
	}
	if asJSON {
		errs = append(errs, writeJSON(a.out, list(stopped, func(r persistence.Run) any {
			return fsm.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", pids[r.ID], "stopped", r.Status.Resumable(), "status", string(r.Status), "current_state", r.State)
		})))
	}
	return joined(errs)
}

// askToStop sends SIGTERM to the owner of a run, and to it alone.
func askToStop(r persistence.Run) error {
	owner, elsewhere := ownerOf(r)
	if elsewhere {
		return failure(exitFailed, "run %s is owned by pid %d on %s; stop it there", r.ID, r.Owner.PID, r.Owner.Host)
	}
	if err := owner.Signal(syscall.SIGTERM); err != nil {
		return failure(exitFailed, "cannot stop run %s: signal to pid %d: %v", r.ID, owner.PID, err)
	}
	_ = owner.Signal(syscall.SIGCONT) // one that was stopped (Ctrl-Z) sees TERM only when it goes on
	return nil
}

// ownerOf returns the process that owns a run, and whether it is on another machine.
func ownerOf(r persistence.Run) (owner proc.Identity, elsewhere bool) {
	host, err := os.Hostname()
	owner = proc.Identity{Host: r.Owner.Host, Boot: r.Owner.Boot, PID: r.Owner.PID, StartMS: r.Owner.Start}
	if r.Held {
		owner.StartMS = 0 // its lock tells more than its start, which moves when the clock is set
	}
	return owner, err == nil && r.Owner.Host != "" && r.Owner.Host != host
}

// awaitStop waits until nobody holds a run, and returns it as it is then.
func awaitStop(ctx context.Context, f finder, r persistence.Run, limit time.Time) (persistence.Run, error) {
	for ; time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		runs, err := f.run(ctx, r.Loop, string(r.ID))
		if err != nil {
			return r, f.store.failed(err)
		}
		if len(runs) == 0 {
			return r, nil // never recorded anything
		}
		if !alive(runs[0]) {
			return runs[0], nil
		}
	}
	return r, failure(exitFailed, "run %s did not stop within %s; its process (pid %d) still runs. Look at what its action does, or end it: kill -9 %d (it stays resumable)", r.ID, duration(stopWait), r.Owner.PID, r.Owner.PID)
}
