package lookup

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// WaitOf returns what a run waits for; nil = nothing.
func WaitOf(ctx context.Context, store *project.Records, id persistence.ID) (*fsm.Wait, error) {
	m, err := store.Snapshot(ctx, id)
	if err != nil && m == nil {
		return nil, store.Failed(err)
	}
	return m.Waiting(), nil
}
