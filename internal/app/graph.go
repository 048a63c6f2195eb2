package app

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/inspect"
	"loops/persistence"
)

// Graph returns what is to be drawn of a run, or of a loop, which ofLoop returns; note says what it is drawn
// from. A loop needs no records; whatever looks like a run does.
func Graph(ctx context.Context, p *project.Project, name, by string, tell Tell,
	ofLoop func() (*fsm.Loop, error),
) (g *diagram.Graph, note string, err error) {
	if _, none := p.Resolve(name); by == "" && none == nil {
		return graphOf(ofLoop()) // also where its name looks like a run
	}
	store, err := p.Records(ctx, false)
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	f := store.Finder()
	var run persistence.Run
	if by != "" {
		run, err = OneRun(ctx, f, name)
	} else {
		named, problem := f.Named(ctx, name)
		if err = problem; err == nil && named == nil && project.LoopOf(name) == "" {
			return graphOf(ofLoop()) // a loop that was run by its path
		} else if err == nil && named == nil {
			err = NoSuchRun(ctx, f, name)
		} else if named != nil {
			run = *named
		}
	}
	if err != nil {
		return nil, "", err
	}
	known, err := p.Pricer()
	if err != nil {
		return nil, "", err
	}
	t := inspect.NewAccount(known)
	for e, err := range store.EventsOf(ctx, run, 0) {
		if project.IsDamage(err) {
			tell(err, "what happened there is not drawn")
			continue
		}
		if err != nil {
			return nil, "", store.Failed(err)
		}
		t.Take(e)
	}
	if by == "" {
		by = inspect.ByVisits
	}
	return GraphOfRun(ctx, f, run, t, by)
}

func graphOf(l *fsm.Loop, err error) (*diagram.Graph, string, error) {
	if err != nil {
		return nil, "", err
	}
	return diagram.Of(l), "", nil
}
