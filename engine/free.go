package engine

import (
	"context"
	"errors"
	"time"

	"loops/persistence"
	"loops/reconcile"
)

// How often, and after which pauses, untilFree tries.
const (
	freeTries = 100
	freePause = 20 * time.Millisecond
)

// UntilFree tries to get hold of a run, again while its lock outlives its owner. That lasts a moment: a runner that
// was killed while it started an action leaves a child that has its open files until it becomes the action.
func UntilFree(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		owner, held := holder(err)
		if !held || n == freeTries || reconcile.OwnerAlive(owner, time.Now()) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(freePause):
		}
	}
}

// holder returns the owner that an error names as being in the way.
func holder(err error) (persistence.Owner, bool) {
	if held, ok := errors.AsType[*persistence.HeldError](err); ok {
		return held.Owner, true
	}
	if conflict, ok := errors.AsType[*persistence.ConflictError](err); ok {
		return conflict.Owner, true
	}
	return persistence.Owner{}, false
}
