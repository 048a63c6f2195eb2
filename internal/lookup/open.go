package lookup

import (
	"context"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence"
)

// OpenRuns is among how many of the newest runs list --running looks for those that can be resumed.
const OpenRuns = 200

// OpenNow returns the runs that are running or queued for workers, however old, and those among the newest that
// can be resumed.
func OpenNow(ctx context.Context, store *project.Records) ([]persistence.Run, error) {
	runs, err := store.Runs(ctx, persistence.Query{Limit: OpenRuns, LiveToo: true, Open: true, Readings: true})
	if err != nil {
		return nil, store.Failed(err)
	}
	return slices.DeleteFunc(project.Current(runs), func(r persistence.Run) bool {
		return !project.Alive(r) && !r.Resumable && !r.Unowned && r.Status != persistence.Queued
	}), nil
}

// InQueue returns those who wait for a scope of the project.
func InQueue(p *project.Project) ([]persistence.Waiter, error) {
	line, err := p.Queue().Waiters()
	if err != nil {
		return nil, engine.Refuse(engine.NotRecorded, "who waits in the queue cannot be read: %v", err)
	}
	return line, nil
}
