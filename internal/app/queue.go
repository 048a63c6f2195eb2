package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/process"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
	"loops/reconcile"
)

// takeOutWait is how long remove waits for a process that it ends.
const takeOutWait = 5 * time.Second

// TakeOutOfQueue takes them out of the queue one after another, says so on out unless it is nil, and returns
// each as an object of JSON.
func TakeOutOfQueue(ctx context.Context, q *persistence.Queue, line []persistence.Waiter,
	out io.Writer,
) (removed []any, err error) {
	removed = []any{}
	if len(line) == 0 {
		return removed, nil
	}
	var errs []error
	for _, w := range slices.Backward(line) { // from behind, so that no waiter moves up and begins meanwhile
		ended, err := takeOutOne(ctx, q, w)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, api.RemovedWaiter{ID: w.ID, Loop: w.Loop, PID: w.Owner.PID, Ended: ended})
		end := ""
		if !ended {
			end = ", which ends when it notices"
		}
		if out != nil {
			terminal.Say(out, "Removed %s from the queue: loop %s (%s)%s. Nothing of it was run.\n",
				view.ShortWaiter(w.ID), view.WaiterLoop(w), view.Process(w.Owner), end)
		}
	}
	if err := q.Tidy(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return removed, nil
	}
	return removed, engine.Several(errs)
}

// takeOutOne takes a waiter out of the queue and ends its process, and reports whether that has ended.
func takeOutOne(ctx context.Context, q *persistence.Queue, w persistence.Waiter) (ended bool, err error) {
	owner := reconcile.Identity(w.Owner)
	if w.Foreign {
		// It does not look at its file, so that it is taken out by its end.
		if err := engine.LittleLoops(w.Owner.PID, w.Since); err != nil {
			return false, engine.Refuse(engine.Failed, "%s stays in the queue: %v. See what it is: ps -fp %d; if it "+
				"does not wait, delete its entry: rm .loops/.queue/%s.json", view.ShortWaiter(w.ID), err, w.Owner.PID,
				w.ID)
		}
		return true, endWaiter(ctx, w, owner)
	}
	elsewhere := !owner.Visible()
	if !elsewhere {
		owner, elsewhere = entryHolder(q, w.ID, owner)
	}
	// From here on it does not begin: either it or this process removes the file.
	switch err := q.Remove(ctx, w.ID); {
	case errors.Is(err, persistence.ErrNotWaiting):
		return false, engine.Refuse(engine.NotFound,
			"%s no longer waits: loop %s (%s) began, or left the queue, just now", view.ShortWaiter(w.ID),
			view.WaiterLoop(w), view.Process(w.Owner))
	case err != nil:
		return false, err
	case elsewhere:
		return false, nil
	}
	return true, endWaiter(ctx, w, owner)
}

// entryHolder returns the process that holds an entry of the queue, or that it is not the one which is
// recorded: whichever it is, it sees by itself when the entry is gone.
func entryHolder(q *persistence.Queue, id string, recorded process.Identity) (owner process.Identity, other bool) {
	for range 5 { // an entry that is written again is another file
		entry, err := q.EntryInfo(id)
		if owner, err = engine.HolderOf(recorded, entry, err, "does not hold its entry"); err == nil {
			return owner, false
		}
	}
	return recorded, true
}

// endWaiter sends TERM to a waiter's process and waits until it has ended.
func endWaiter(ctx context.Context, w persistence.Waiter, owner process.Identity) error {
	if err := owner.Signal(syscall.SIGTERM); err != nil {
		return engine.Refuse(engine.Failed, "%s: its process cannot be ended: signal to pid %d: %v",
			view.ShortWaiter(w.ID), owner.PID, err)
	}
	_ = owner.Signal(syscall.SIGCONT) // one that was stopped (Ctrl-Z) sees TERM only when it continues
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
	return engine.Refuse(engine.Failed, "%s was asked to leave the queue, but its process (pid %d) has not "+
		"ended after %s", view.ShortWaiter(w.ID), owner.PID, humanize.Duration(takeOutWait))
}

// FindWaiters returns the one with that id, or all of the loop of that name or with that run to resume, or the
// one whose id begins so.
func FindWaiters(line []persistence.Waiter, arg string) ([]persistence.Waiter, error) {
	var found, ofLoop []persistence.Waiter
	for _, w := range line {
		if w.ID == arg {
			return []persistence.Waiter{w}, nil
		}
		if strings.HasPrefix(w.ID, arg) {
			found = append(found, w)
		}
		if w.Loop == arg || string(w.Resumes) == arg {
			ofLoop = append(ofLoop, w)
		}
	}
	if len(ofLoop) > 0 {
		return ofLoop, nil
	}
	switch {
	case len(found) == 0:
		return nil, engine.Refuse(engine.NotFound, "no waiter in the queue is %s; see: %s", arg,
			engine.Do("queue list", ""))
	case len(arg) < 4:
		return nil, engine.Misuse("queue remove", "%s is too short: give at least 4 characters of the id", arg)
	case len(found) > 1:
		lines := []string{fmt.Sprintf("%s is the beginning of %d ids; give more of the one you mean:", arg, len(found))}
		for _, w := range found {
			lines = append(lines, fmt.Sprintf("%s  %s (%s, for %s)", w.ID, view.WaiterLoop(w), view.Process(w.Owner),
				view.Age(w.Since)))
		}
		return nil, engine.Refuse(engine.Usage, "%s", terminal.BlockOf("  ", lines))
	}
	return found, nil
}
