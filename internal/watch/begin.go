package watch

import (
	"context"
	"slices"

	"loops/engine/project"
	"loops/persistence"
)

// Begin has the monitor begin on what arg means: a run, the newest one of a loop that is running, or one in the queue.
func (l *Monitor) Begin(ctx context.Context, arg string) error {
	l.one = project.LoopOf(arg) != ""
	r, err := pick(ctx, l.Finder, arg)
	if err == nil {
		l.one = l.one || l.IsNamed(r, arg)
		l.named, l.loop, l.first = r.ID, r.Loop, string(r.ID)
		return nil
	}
	waiters, _ := l.queue() // what cannot be read there is reported when it is looked at
	if i := slices.IndexFunc(waiters, func(w persistence.Waiter) bool { return l.IsWaiter(w, arg) }); i >= 0 {
		l.loop, l.first = waiters[i].Loop, queuedID(waiters[i])
		return nil
	}
	return err
}

// pick returns the run to begin on: the newest that is running, or else the newest.
func pick(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	live, newest, err := f.Live(ctx, arg)
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	if newest == nil {
		return persistence.Run{}, &project.NoRunError{Finder: f, Arg: arg}
	}
	if newest.Archived {
		// little-loops leaves live files behind, and it is under their name that the list has the run.
		left, err := f.Store.Runs(ctx, persistence.Query{Loop: newest.Loop, Live: true})
		if err != nil {
			return persistence.Run{}, f.Store.Failed(err)
		}
		for _, r := range project.Current(left) {
			if r.RunID == newest.RunID {
				newest = &r
			}
		}
	}
	for _, r := range live {
		if project.Alive(r) {
			return r, nil
		}
	}
	return *newest, nil
}

// First is the row to begin on, "" = any.
func (l *Monitor) First() string { return l.first }
