package app

import (
	"context"
	"slices"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// OpenRuns are runs that are running or can be resumed, or those that ended badly, and who waits in the queue.
type OpenRuns struct {
	Chosen  []*inspect.Status
	Waiting []persistence.Waiter

	s      *Service
	looked []*inspect.Status // those that were chosen from
}

// OpenRuns returns the runs that are asked for. memory reports whether their memory and newest events are shown too.
func (s *Service) OpenRuns(ctx context.Context, asked OpenFilter, memory bool) (*OpenRuns, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	var runs []persistence.Run
	switch {
	case !asked.Failed.IsZero():
		runs, err = failedSince(ctx, s.records, asked.Failed)
	case asked.Unmerged:
		runs, err = notMerged(ctx, s.records)
	default:
		runs, err = engine.OpenRuns(ctx, s.records)
	}
	if err != nil {
		return nil, err
	}
	o := &OpenRuns{s: s}
	for _, r := range runs {
		v := engine.Glimpse(ctx, f, r)
		o.looked = append(o.looked, v)
		if asked.State != "" {
			Remember(ctx, f, v)
		}
		if asked.Keeps(v) {
			if memory {
				Remember(ctx, f, v)
			}
			o.Chosen = append(o.Chosen, v)
		}
	}
	if asked.Queued() {
		if o.Waiting, err = InQueue(s.Project); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Objects returns the runs and those in the queue for a program.
func (o *OpenRuns) Objects() []any {
	objects := terminal.List(o.Chosen, func(v *inspect.Status) any { return view.OpenRun(o.s.Project, o.s.records, v) })
	for _, w := range o.Waiting {
		objects = append(objects, view.QueuedStatus(w))
	}
	return objects
}

// Lines returns the rows of a table of them.
func (o *OpenRuns) Lines() []view.RunLine {
	var lines []view.RunLine
	for _, v := range o.Chosen {
		lines = append(lines, view.LineOf(v))
	}
	for _, w := range o.Waiting {
		lines = append(lines, view.LineOfWaiter(o.s.Project, w))
	}
	return lines
}

// Unread is the error for runs that could not be read whole.
func (o *OpenRuns) Unread() error { return UnreadRuns(o.looked) }

// failedSince returns the runs that ended badly since then. One that continued for long may have begun before
// any other.
func failedSince(ctx context.Context, store *project.Records, since time.Time) ([]persistence.Run, error) {
	filter := Bad()
	filter.Since = since
	runs, err := store.Runs(ctx, persistence.Query{Filter: filter})
	if err != nil {
		return nil, store.Failed(err)
	}
	return slices.DeleteFunc(project.Current(runs), func(r persistence.Run) bool {
		return !EndedBadly(r) || r.UpdatedAt.Before(since)
	}), nil
}

// notMerged returns the runs that completed and were not merged.
func notMerged(ctx context.Context, store *project.Records) ([]persistence.Run, error) {
	runs, err := store.Runs(ctx, persistence.Query{Filter: persistence.Filter{Unmerged: true}})
	if err != nil {
		return nil, store.Failed(err)
	}
	return project.Current(runs), nil
}
