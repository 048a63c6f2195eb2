package engine

import (
	"context"
	"errors"
	"time"

	"loops/persistence"
)

// A BusyError means that a run was not begun because others are in the way.
type BusyError struct {
	Err    error         // a *persistence.ConflictError or a *BehindError
	Waited time.Duration // in the queue; 0 = it did not
}

func (e *BusyError) Error() string { return e.Err.Error() }
func (e *BusyError) Unwrap() error { return e.Err }

// busy returns the error of a run that does not begin, after it waited for so long.
func (t turn) busy(ctx context.Context, err error, waited time.Duration) error {
	return &BusyError{t.withWait(ctx, err), waited}
}

// withWait adds to an error what the run waits for that is in the way. Of a run in another store, and of one
// whose memory cannot be read, it is not known.
func (t turn) withWait(ctx context.Context, err error) error {
	locked, ok := errors.AsType[*persistence.ConflictError](err)
	if !ok || locked.Holder == "" || locked.Store != "" {
		return err
	}
	if m, unread := t.store.Snapshot(ctx, locked.Holder); unread == nil && m != nil {
		locked.Waits = m.Waiting()
	}
	return err
}
