package app

import (
	"context"
	"errors"

	"loops/engine"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// Unblock has the runs continue by begin that were suspended by name, and returns what is used again. After an error it
// returns nil if no run continues.
func (s *Service) Unblock(ctx context.Context, name string, begin func(context.Context, engine.Request) error) (
	*engine.Unblocked, error,
) {
	if _, err := s.Finder(ctx); err != nil {
		return nil, err
	}
	done, err := engine.Unblock(ctx, s.records, name, begin)
	if err != nil && len(done.Agents)+len(done.Runs) == 0 {
		return nil, err
	}
	return &done, err
}

// UnblockedObject returns for a program what was unblocked.
func UnblockedObject(done *engine.Unblocked) api.Unblocked {
	return api.Unblocked{Agents: done.Agents, Runs: view.RunIDs(done.Runs)}
}

// UnblockRun is Unblock by what suspended one run, which arg names.
func (s *Service) UnblockRun(ctx context.Context, arg string, begin func(context.Context, engine.Request) error) (
	*engine.Unblocked, error,
) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	run, err := f.One(ctx, arg)
	by := inspect.SuspendedBy(run)
	switch {
	case err != nil:
		return nil, err
	case run.Ended != fsm.EndSuspended && (run.Status != persistence.Queued || by == ""):
		return nil, engine.Refuse(engine.Conflict, "run %s is not suspended", run.ID)
	case by == "":
		return nil, engine.Refuse(engine.Conflict, "run %s does not say what it waits for; resume it", run.ID)
	}
	return s.Unblock(ctx, by, begin)
}

// PrintUnblocked has the runs continue by begin that were suspended by name, and shows which.
func (s *Service) PrintUnblocked(ctx context.Context, name string, asJSON bool,
	begin func(context.Context, engine.Request) error,
) error {
	done, err := s.Unblock(ctx, name, begin)
	switch {
	case done == nil:
		return err
	case asJSON:
		return errors.Join(err, terminal.WriteJSON(s.Page.Out, UnblockedObject(done)))
	}
	for _, by := range done.Agents {
		terminal.Say(s.Page.Out, "Runs use %s again.\n", by)
	}
	for _, run := range done.Runs {
		terminal.Say(s.Page.Out, "Run %s continues.\n", run.ID)
	}
	return err
}
