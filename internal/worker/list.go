package worker

import (
	"context"
	"errors"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/persistence"
)

// List returns the workers of the runs of a project, also those that are gone, and not those that ended.
func List(ctx context.Context, p *project.Project) ([]persistence.WorkerState, error) {
	records, store, err := placer(ctx, p)
	if err != nil {
		return nil, err
	}
	all, err := store.Workers(ctx)
	return all, errors.Join(err, records.Close())
}

// placer is the store of the runs of a project, if workers share it. The caller closes the records.
func placer(ctx context.Context, p *project.Project) (*project.Records, persistence.Placer, error) {
	records, err := p.Records(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	store, ok := records.Store.(persistence.Placer)
	if records.Files || !ok {
		return nil, nil, errors.Join(engine.Refuse(engine.Usage, "%s", persistence.ErrNoWorkers), records.Close())
	}
	return records, store, nil
}

// Drain asks workers of the runs of a project to end, so that others have their runs, and returns which it
// asked. by is who asks. They end on their own, within a second if they are heard of. The first that is not
// there ends it with an error.
func Drain(ctx context.Context, p *project.Project, workers []string, by string) (asked []string, err error) {
	records, store, err := placer(ctx, p)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	for _, id := range workers {
		found, err := store.Drain(ctx, id, by)
		if err != nil {
			return asked, records.Failed(err)
		}
		if !found {
			return asked, engine.Refuse(engine.NotFound, "there is no worker %s%s", humanize.Quote(id),
				nearest(ctx, store, id))
		}
		asked = append(asked, id)
	}
	return asked, nil
}

// nearest is the end of a message that names the worker that may be meant.
func nearest(ctx context.Context, store persistence.Placer, id string) string {
	all, err := store.Workers(ctx)
	if err != nil {
		return "" // the message is about something else
	}
	var names []string
	for _, w := range all {
		names = append(names, w.ID)
	}
	if near := humanize.Nearest(id, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
