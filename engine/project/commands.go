package project

import (
	"context"
	"time"

	"loops/persistence"
)

// AllCommands returns the commands of a run that can be read, in their order; none where the store keeps none.
func (r *Records) AllCommands(ctx context.Context, id persistence.ID) ([]persistence.Command, error) {
	all, err := r.Commands(ctx, id, 0)
	if IsDamage(err) {
		err = nil
	}
	return all, err
}

// PausedSince returns when a run was asked to pause, and whether it is to: a pause holds, over its segments,
// until it is lifted. Where that cannot be read it is not paused.
func (r *Records) PausedSince(ctx context.Context, run persistence.Run) (since time.Time, paused bool) {
	if run.Foreign || run.Unasked || !run.Resumable && !run.Held {
		return time.Time{}, false // no process would act on it
	}
	all, _ := r.AllCommands(ctx, run.ID)
	return persistence.PausedSince(all, run.Segment)
}
