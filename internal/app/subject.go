package app

import (
	"context"
	"errors"

	"loops/engine/project"
	"loops/internal/diagram"
	"loops/internal/inspect"
	"loops/persistence"
)

// OneRun returns the run that arg means, with its reading, and says what the user may have meant where there is none.
func OneRun(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	run, err := f.One(ctx, arg)
	if no, ok := errors.AsType[*project.NoRunError](err); ok {
		return run, NoSuchRun(ctx, no.Finder, no.Arg) // while the store is open
	}
	return run, err
}

// RunGraph returns the graph of the run that arg means, as [GraphOfRun] does. Damage of its record is left out of it.
func (s *Service) RunGraph(ctx context.Context, arg string) (g *diagram.Graph, note string, err error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, "", err
	}
	run, err := OneRun(ctx, f, arg)
	if err != nil {
		return nil, "", err
	}
	prices, err := s.Project.Pricer()
	if err != nil {
		return nil, "", err
	}
	account := inspect.NewAccount(prices)
	for e, err := range f.Store.EventsOf(ctx, run, 0) {
		if err != nil && !project.IsDamage(err) {
			return nil, "", f.Store.Failed(err)
		}
		if err == nil {
			account.Take(e)
		}
	}
	return GraphOfRun(ctx, f, run, account, inspect.ByVisits)
}

// GraphOfRun returns the graph of a run's loop with what the run did, which was added up. An error says that
// the recorded loop cannot be read; the graph is there nevertheless, and note says what it is drawn from.
func GraphOfRun(ctx context.Context, f project.Finder, r persistence.Run, t *inspect.Account,
	by string,
) (g *diagram.Graph, note string, err error) {
	def, err := f.Store.ReadDefinitionOf(ctx, r)
	if errors.Is(err, persistence.ErrNotFound) {
		err = nil // the run was removed meanwhile
	}
	l, path := f.Ran(r, def)
	switch {
	case path != "" && err != nil:
		note = "the loop is drawn from " + f.Project.Short(path) + " as it is now; the one that the run began with " +
			"cannot be read"
	case path != "":
		note = "the loop is drawn from " + f.Project.Short(path) + " as it is now; with which one the run began " +
			"is not recorded"
	}
	if l == nil {
		g, note = &diagram.Graph{Name: r.Loop}, "the loop of this run is no longer known: what is drawn is "+
			"what the run did"
	} else {
		g = diagram.Of(l)
	}
	g.Measure(t.Measure(r, by))
	if err != nil {
		err = f.Store.Failed(err)
	}
	return g, note, err
}
