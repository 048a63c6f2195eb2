package worker

import (
	"context"
	"errors"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence"
)

// List returns the workers of the runs of a project, also those that are gone, and not those that ended.
func List(ctx context.Context, p *project.Project) ([]persistence.WorkerState, error) {
	records, err := p.Records(ctx, false)
	if err != nil {
		return nil, err
	}
	store, ok := records.Store.(persistence.Placer)
	if records.Files || !ok {
		return nil, errors.Join(engine.Refuse(engine.Usage, "%s", persistence.ErrNoWorkers.Error()), records.Close())
	}
	all, err := store.Workers(ctx)
	return all, errors.Join(err, records.Close())
}
