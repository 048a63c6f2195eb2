package app

import (
	"context"
	"errors"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/view"
)

// Unblock has the runs continue by begin that were suspended by name, and shows which.
func (s *Service) Unblock(ctx context.Context, name string, asJSON bool, begin func(context.Context, engine.Request) error) error {
	if _, err := s.Finder(ctx); err != nil {
		return err
	}
	done, err := engine.Unblock(ctx, s.records, name, begin)
	switch {
	case err != nil && len(done.Agents)+len(done.Runs) == 0:
		return err
	case asJSON:
		return errors.Join(err, terminal.WriteJSON(s.Page.Out, api.Unblocked{Agents: done.Agents, Runs: view.RunIDs(done.Runs)}))
	}
	for _, by := range done.Agents {
		terminal.Say(s.Page.Out, "Runs use %s again.\n", by)
	}
	for _, run := range done.Runs {
		terminal.Say(s.Page.Out, "Run %s continues.\n", run.ID)
	}
	return err
}
