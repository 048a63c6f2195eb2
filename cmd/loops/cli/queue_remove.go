package cli

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/proc"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
	"loops/reconcile"
)

// takeOutWait is how long remove waits for a process that it ends.
const takeOutWait = 5 * time.Second

// takeOutAll takes somebody after another out of the queue, says so, and returns each as an object of JSON.
func (a *app) takeOutAll(ctx context.Context, q *persistence.Queue, line []persistence.Waiter, quiet bool) (removed []any, err error) {
	removed = []any{}
	if len(line) == 0 {
		return removed, nil
	}
	var errs []error
	for _, w := range slices.Backward(line) { // from behind, so that nobody moves up and begins meanwhile
		ended, err := takeOut(ctx, q, w)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, value.NewMap("queue_id", w.ID, "loop", w.Loop, "pid", int64(w.Owner.PID), "ended", ended))
		end := ""
		if !ended {
			end = ", which ends when it notices"
		}
		if !quiet {
			ui.Say(a.out, "Took %s out of the queue: loop %s (%s)%s. Nothing of it was run.\n", views.ShortWaiter(w.ID), views.WaiterLoop(w), views.Process(w.Owner), end)
		}
	}
	return removed, joined(append(errs, q.Tidy(ctx)))
}

// takeOut takes somebody out of the queue and ends his process, and says whether that has ended.
func takeOut(ctx context.Context, q *persistence.Queue, w persistence.Waiter) (ended bool, err error) {
	owner := reconcile.Identity(w.Owner)
	if w.Foreign {
		// It does not look at its file, so that it is taken out by its end.
		if err := engine.LittleLoops(w.Owner.PID, w.Since); err != nil {
			return false, failure(engine.Failed, "%s stays in the queue: %v. See what it is: ps -fp %d; if it does not wait, delete its entry: rm .loops/.queue/%s.json", views.ShortWaiter(w.ID), err, w.Owner.PID, w.ID)
		}
		return true, endWaiter(ctx, w, owner)
	}
	elsewhere := !owner.Visible()
	if !elsewhere {
		owner, elsewhere = entryHolder(q, w.ID, owner)
	}
	// From here on he does not begin: of him and us, one removes the file.
	switch err := q.Remove(ctx, w.ID); {
	case errors.Is(err, persistence.ErrNotWaiting):
		return false, failure(engine.NotFound, "%s does not wait any more: loop %s (%s) began, or left the queue, just now", views.ShortWaiter(w.ID), views.WaiterLoop(w), views.Process(w.Owner))
	case err != nil:
		return false, err
	case elsewhere:
		return false, nil
	}
	return true, endWaiter(ctx, w, owner)
}

// entryHolder returns the process that holds an entry of the queue, or that it is not the one which is recorded: whichever
// it is, it sees by itself when the entry is gone.
func entryHolder(q *persistence.Queue, id string, recorded proc.Identity) (owner proc.Identity, other bool) {
	for range 5 { // an entry that is written anew is another file
		entry, err := q.EntryInfo(id)
		if owner, err = engine.HolderOf(recorded, entry, err, "does not hold its entry"); err == nil {
			return owner, false
		}
	}
	return recorded, true
}

// endWaiter sends TERM to somebody's process and waits until it has ended.
func endWaiter(ctx context.Context, w persistence.Waiter, owner proc.Identity) error {
	if err := owner.Signal(syscall.SIGTERM); err != nil {
		return failure(engine.Failed, "%s: its process cannot be ended: signal to pid %d: %v", views.ShortWaiter(w.ID), owner.PID, err)
	}
	_ = owner.Signal(syscall.SIGCONT) // one that was stopped (Ctrl-Z) sees TERM only when it goes on
	for limit := time.Now().Add(takeOutWait); time.Now().Before(limit); {
		if alive, _ := owner.Alive(); !alive {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return failure(engine.Failed, "%s was asked to leave the queue, but its process (pid %d) has not ended after %s", views.ShortWaiter(w.ID), owner.PID, phrase.Duration(takeOutWait))
}
