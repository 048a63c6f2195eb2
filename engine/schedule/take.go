package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/persistence"
)

// Take puts on record that a run is to begin which is asked for once, under a key: the loop, what has it started, and its context are those of f. It is
// durable on return. From then on Pursue starts the run, here or in another process. Where the key is on record already, taken is false, and the
// firing is the one that is.
func (c *Clock) Take(ctx context.Context, list, key string, f Firing) (on Firing, taken bool, err error) {
	now := c.now()
	if f.State, f.At = Starting, now.UTC(); f.Loop == "" {
		f.State = Started // there is no run to begin
	}
	if f.Open() {
		if f.Run, err = c.free(ctx, list, f.Loop, now); err != nil {
			return f, false, err
		}
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

// free returns the id of a run that no run has, and none that is to begin for the list.
func (c *Clock) free(ctx context.Context, list, loop string, at time.Time) (persistence.ID, error) {
	known, err := firings(ctx, c.Ledger, list)
	for ; err == nil; at = at.Add(time.Second) {
		var id persistence.ID
		if id, err = c.id(ctx, loop, at); !slices.ContainsFunc(known, func(f Firing) bool { return f.entry.Open && f.Run == id }) {
			return id, err
		}
	}
	return "", err
}

// Taken returns what was taken of a list, in the order of the keys.
func Taken(ctx context.Context, l persistence.Ledger, list string) ([]Firing, error) {
	return firings(ctx, l, list)
}

// Key is the key under which the firing is on record.
func (f Firing) Key() string { return f.entry.Key }

// Pursue starts the runs of a list that were taken and have not begun, in the order of their keys, and reports whether some have not yet. file is
// where the loop of that name is. What keeps one from beginning does not keep others from it.
func (c *Clock) Pursue(ctx context.Context, list string, file func(loop string) string) (open bool, err error) {
	all, err := firings(ctx, c.Ledger, list)
	errs := []error{err}
	for _, f := range all {
		if !f.entry.Open || f.Loop == "" {
			continue
		}
		still, err := c.pursue(ctx, Plan{Loop: f.Loop, File: file(f.Loop)}, f)
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
