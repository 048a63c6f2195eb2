package app

import (
	"context"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/view"
	"loops/persistence"
)

// Extend raises limits of the runs that are running of those that arg means. Of a run that can be resumed
// instead, the error says how.
func (s *Service) Extend(ctx context.Context, arg string, by engine.Extend, each Each) (*Told, error) {
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	command := engine.Command{Kind: persistence.CommandExtend, Extend: by}
	runs, err := running(ctx, f, arg, "extend")
	if err != nil {
		if _, newest, lost := f.Live(ctx, arg); lost == nil && newest != nil && newest.Resumable {
			_, err = e.Ask(ctx, newest.ID, command)
		}
		return nil, err
	}
	told, failed := s.tell(ctx, e, runs, command, each)
	return told, several(failed)
}

// ExtendObjects returns the runs whose limits were raised for a program.
func (t *Told) ExtendObjects(page *view.Page) (all []api.Extended) {
	for _, e := range t.Effects {
		all = append(all, view.Extended(page, e))
	}
	return all
}
