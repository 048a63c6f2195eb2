package engine

import (
	"context"
	"errors"
	"time"

	"loops/engine/project"
	"loops/persistence"
	"loops/reconcile"
)

// How often, and after which pauses, untilFree tries.
const (
	freeTries = 100
	freePause = 20 * time.Millisecond
)

// untilFree tries to get hold of a run, again while its lock outlives its owner, or its end on record. Both
// last a moment: a runner that was killed while it started an action leaves a child that has its open files
// until it becomes the action; and one that has ended is shown so before it has tidied up. ended reports
// whether the end of a run is on record.
func untilFree(ctx context.Context, ended func(context.Context, persistence.ID) bool, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		run, owner, held := holder(err)
		if !held || n == freeTries || reconcile.OwnerAlive(owner, time.Now()) && (run == "" || !ended(ctx, run)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(freePause):
		}
	}
}

// holder returns the run that an error names as being in the way, and its owner. The run is "" if it is in
// another store.
func holder(err error) (persistence.ID, persistence.Owner, bool) {
	if held, ok := errors.AsType[*persistence.HeldError](err); ok {
		return held.ID, held.Owner, true
	}
	if conflict, ok := errors.AsType[*persistence.ConflictError](err); ok {
		if conflict.Store != "" {
			return "", conflict.Owner, true
		}
		return conflict.Holder, conflict.Owner, true
	}
	return "", persistence.Owner{}, false
}

// endedIn returns what untilFree asks of the runs in a store.
func endedIn(s *project.Records) func(context.Context, persistence.ID) bool {
	return func(ctx context.Context, id persistence.ID) bool {
		run, found := s.Anywhere(ctx, id)
		return found && run.Ended != ""
	}
}
