package cli

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
)

// wakeWait is how long retry-now looks for a run that goes on.
const wakeWait = 5 * time.Second

func newRetryNowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry-now NAME|RUN",
		Short: "Wake a run that waits",
		Long: `retry-now ends the wait that the run RUN is in, or those of every run of the loop NAME: for a rate limit, after a failure
of an agent host, or between states. The run goes on at once; loops status shows what it waits for. It sends SIGUSR1
to the process that owns the run.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops retry-now fix
  loops retry-now fix-20261121T103405`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRetryNow(cmd.Context(), a, args[0]) },
	}
}

func runRetryNow(ctx context.Context, a *app, arg string) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
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
			more = "; go on with it: " + a.goOn(ctx, store, *newest)
		}
		return failure(engine.NotFound, "nothing to wake: run %s is %s%s", newest.ID, inspect.StatusWord(*newest), more)
	}
	var errs []error
	woken, busy := 0, live[0]
	for _, r := range live {
		w, err := a.wakeRun(ctx, store, r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case w == nil:
			busy = r
		default:
			woken++
			ui.SayLine(a.out, wokenText(r, w))
		}
	}
	if woken == 0 && len(errs) == 0 {
		return failure(engine.NotFound, "nothing to wake: run %s does not wait; it is in state %s", busy.ID, busy.State)
	}
	return joined(errs)
}

// wakeRun ends the wait of a run, and returns what it waited for; nil = it does not wait.
func (a *app) wakeRun(ctx context.Context, store *project.Records, r persistence.Run) (*fsm.Wait, error) {
	w, err := waitOf(ctx, store, r.ID)
	switch {
	case err != nil || w == nil:
		return nil, err
	case w.Why == fsm.WaitPaused:
		return nil, failure(engine.Failed, "run %s is paused; let it go on with: %s", r.ID, a.command("unpause", string(r.ID)))
	}
	return w, wake(ctx, store, r, *w)
}

func wokenText(r persistence.Run, w *fsm.Wait) string {
	return fmt.Sprintf("Woke %s (pid %d): it waited for %s.", r.ID, r.Owner.PID, inspect.WaitText(w))
}

// waitOf returns what a run waits for; nil = nothing.
func waitOf(ctx context.Context, store *project.Records, id persistence.ID) (*fsm.Wait, error) {
	m, err := store.Snapshot(ctx, id)
	if err != nil && m == nil {
		return nil, store.Failed(err)
	}
	return m.Waiting(), nil
}

// wake ends a wait, and returns when it is over.
func wake(ctx context.Context, store *project.Records, r persistence.Run, w fsm.Wait) error {
	if !outOfSight(r) && (r.Foreign || !r.Held) {
		return failure(engine.Failed, "run %s is carried on by another program (pid %d), which cannot be woken; stop it with: loops stop %s", r.ID, r.Owner.PID, quote(string(r.ID)))
	}
	if err := tellRun(store, r, "retry-now", syscall.SIGUSR1); err != nil {
		return err
	}
	for limit := time.Now().Add(wakeWait); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		now, err := waitOf(ctx, store, r.ID)
		if err != nil {
			return err
		}
		if now == nil || *now != w {
			return nil
		}
	}
	return failure(engine.Failed, "run %s was told to go on and still waits after %s; is its process (pid %d) stopped?", r.ID, phrase.Duration(wakeWait), r.Owner.PID)
}

func waitObject(w *fsm.Wait) *value.Map {
	return value.NewMap("for", w.Why, "tier", ui.OrNull(w.Tier), "state", w.State, "since", ui.Stamp(w.Since), "until", ui.Stamp(w.Until),
		"seconds_left", max(0, int64(time.Until(w.Until).Seconds())), "host", ui.OrNull(w.Host))
}
