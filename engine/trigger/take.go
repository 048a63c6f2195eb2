package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/persistence"
)

// Take puts on record that a run is to begin which is asked for once, under a key: the loop, what has it
// started, and its context are those of f. It is durable on return. From then on Pursue starts the run, here or
// in another process. Where the key is on record already, taken is false, and the firing is the one that is.
func (c *Clock) Take(ctx context.Context, list, key string, f Firing) (on Firing, taken bool, err error) {
	now := c.now()
	f.State, f.At = Starting, now.UTC()
	if f.Run, err = c.free(ctx, f.Loop, now); err != nil {
		return f, false, err
	}
	err = c.Ledger.Add(ctx, entryOf(list, key, f.Open(), now, f))
	if !errors.Is(err, persistence.ErrTaken) {
		return f, err == nil, err
	}
	all, err := firings(ctx, c.Ledger, list, key)
	if err == nil && len(all) == 0 { // unless it was trimmed in this very moment
		err = fmt.Errorf("%s of %s is on record, and was removed meanwhile", key, list)
	}
	if err != nil {
		return f, false, err
	}
	return all[0], false, nil
}

// listIDs is the list of the ledger that has the ids which are kept for runs that are to begin.
const listIDs = "runs"

// free returns the id of a run that no run has, and keeps it: two messages that come at once, to whatever
// webhook and server, get two. A user may still start a run in that very second, which then has the id; the one
// that was asked for gets another.
func (c *Clock) free(ctx context.Context, loop string, at time.Time) (persistence.ID, error) {
	for ; ; at = at.Add(time.Second) {
		id, err := c.id(ctx, loop, at)
		if err != nil {
			return "", err
		}
		if err = c.Ledger.Add(ctx, entryOf(listIDs, string(id), false, c.now(), nil)); !errors.Is(err,
			persistence.ErrTaken) {
			return id, err
		}
	}
}

// ErrBusy means that another process is at it just now, or was killed at it a moment ago.
var ErrBusy = errors.New("another server is at it")

// Once does something that is asked for once, under a key, and is no start of a run. It is on record before, so
// that two servers do not do it both, and after; done is false where it was done before. If do fails, so does
// Once, and the next call does it. Of what a server did as it was killed it is not known whether it was done: a
// call after 20 seconds does it again.
func (c *Clock) Once(ctx context.Context, list, key string, f Firing, do func() error) (done bool, err error) {
	now := c.now()
	f.State, f.At, f.Until = Starting, now.UTC(), now.Add(pauses[0]).UTC()
	e := entryOf(list, key, false, now, f)
	if err = c.Ledger.Add(ctx, e); err == nil {
		e.Rev = 1
	}
	if errors.Is(err, persistence.ErrTaken) {
		var all []Firing
		if all, err = firings(ctx, c.Ledger, list, key); err != nil {
			return false, err
		}
		switch {
		case len(all) == 0 || all[0].State == Starting && all[0].others(now):
			return false, ErrBusy
		case all[0].State == Started:
			return false, nil
		}
		e.Rev = all[0].entry.Rev
		if e, err = c.Ledger.Change(ctx, e); errors.Is(err, persistence.ErrChanged) {
			return false, ErrBusy
		}
	}
	if err != nil {
		return false, err
	}
	failed := do()
	if f.State, f.Until = Started, (time.Time{}); failed != nil {
		f.State, f.Why = Failed, failed.Error()
	}
	after := entryOf(list, key, false, now, f)
	after.Rev = e.Rev
	if _, err = c.Ledger.Change(context.WithoutCancel(ctx), after); failed == nil {
		failed = errors.Join(unlessChanged(err), c.Ledger.Trim(ctx, list, c.now().Add(-c.Keep), kept))
	}
	return failed == nil, failed
}

// Taken returns what was taken of a list, in the order of the keys.
func Taken(ctx context.Context, l persistence.Ledger, list string) ([]Firing, error) {
	return firings(ctx, l, list)
}

// Key is the key under which the firing is on record.
func (f Firing) Key() string { return f.entry.Key }

// mostQueued is how many runs of one loop that were taken wait in the queue of the project at once, each with a
// process of its own.
const mostQueued = 10

// Pursue starts the runs of a list that were taken and have not begun, in the order in which they were taken,
// and reports whether some have not yet. file is where the loop of that name is. What keeps one from beginning
// does not keep others from it, but where ten of a loop wait for what others have locked the rest of the loop
// waits for these.
func (c *Clock) Pursue(ctx context.Context, list string, file func(loop string) string) (open bool, err error) {
	all, err := firings(ctx, c.Ledger, list)
	errs := []error{err}
	slices.SortStableFunc(all, func(f, g Firing) int { return f.At.Compare(g.At) })
	queued := map[string]int{}
	for _, f := range all {
		if !f.entry.Open || f.Loop == "" {
			continue
		}
		if queued[f.Loop] >= mostQueued {
			open = true
			continue
		}
		still, err := c.pursue(ctx, Plan{Loop: f.Loop, File: file(f.Loop)}, f)
		if still && err == nil {
			var waits bool
			if waits, err = c.World.Queued(f.Run); waits {
				queued[f.Loop]++
			}
		}
		open, errs = open || still, append(errs, err)
	}
	return open, errors.Join(errs...)
}

// firings are those of a list, or of some of its keys.
func firings(ctx context.Context, l persistence.Ledger, list string, keys ...string) (all []Firing, err error) {
	entries, err := l.Entries(ctx, list, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		f := Firing{entry: e}
		if err := json.Unmarshal(e.Body, &f); err != nil {
			return nil, fmt.Errorf("%s of %s is damaged: %w", e.Key, list, err)
		}
		all = append(all, f)
	}
	return all, nil
}
