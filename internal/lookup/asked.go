package lookup

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// A Question is one that a run asks.
type Question struct {
	Run      persistence.Run
	Question *fsm.OpenQuestion
}

// Asked returns what the run that arg means asks, or what all runs ask for "": the questions that have no
// answer yet. A run that asks nothing is an *engine.Refusal.
func Asked(ctx context.Context, store *project.Records, arg string) ([]Question, error) {
	var runs []persistence.Run
	if arg == "" {
		var err error
		if runs, err = OpenNow(ctx, store); err != nil {
			return nil, err
		}
	} else {
		run, ok, err := Addressed(ctx, store.Finder(), arg)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, NoSuchRun(ctx, store.Finder(), arg)
		}
		runs = []persistence.Run{run}
	}
	var open []Question
	for _, r := range runs {
		m, err := store.Snapshot(ctx, r.ID)
		if err != nil && m == nil && arg != "" {
			return nil, store.Failed(err)
		}
		if !r.Resumable && !project.Alive(r) {
			continue
		}
		asked := m.Questions()
		for _, q := range engine.Unanswered(ctx, store, r.ID, asked) {
			open = append(open, Question{r, q})
		}
		if len(asked) > 0 && len(open) == 0 && arg != "" {
			return nil, engine.Refuse(engine.NotFound, "run %s asks nothing more: what it asked has its answer", r.ID)
		}
	}
	if len(open) == 0 && arg != "" {
		return nil, engine.Refuse(engine.NotFound, "run %s asks nothing: it is %s in state %s", runs[0].ID, inspect.Outcome(runs[0]), runs[0].State)
	}
	return open, nil
}
