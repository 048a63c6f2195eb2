package app

import (
	"context"

	"loops/internal/inspect"
	"loops/internal/lookup"
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
func (s *Service) OpenRuns(ctx context.Context, asked view.OpenFilter, memory bool) (*OpenRuns, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	var runs []persistence.Run
	switch {
	case !asked.Failed.IsZero():
		runs, err = view.FailedSince(ctx, s.records, asked.Failed)
	case asked.Unmerged:
		runs, err = view.NotMerged(ctx, s.records)
	default:
		runs, err = lookup.OpenNow(ctx, s.records)
	}
	if err != nil {
		return nil, err
	}
	o := &OpenRuns{s: s}
	for _, r := range runs {
		v := lookup.Glimpse(ctx, f, r)
		o.looked = append(o.looked, v)
		if asked.Keeps(v) {
			if memory {
				lookup.Remember(ctx, f, v)
			}
			o.Chosen = append(o.Chosen, v)
		}
	}
	if asked.Queued() {
		if o.Waiting, err = lookup.InQueue(s.Project); err != nil {
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
func (o *OpenRuns) Unread() error { return lookup.UnreadRuns(o.looked) }
