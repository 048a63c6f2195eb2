package app

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
)

// OpenQuestions returns what the run that arg means asks, or what all runs ask for "": the questions that have no
// answer yet. A run that asks nothing is an *engine.Refusal.
func OpenQuestions(ctx context.Context, store *project.Records, arg string) ([]engine.Question, error) {
	if arg == "" {
		return engine.AllQuestions(ctx, store)
	}
	run, ok, err := Addressed(ctx, store.Finder(), arg)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, NoSuchRun(ctx, store.Finder(), arg)
	}
	open, asked, err := engine.QuestionsOf(ctx, store, run)
	switch {
	case err != nil || len(open) > 0:
		return open, err
	case asked > 0:
		return nil, engine.Refuse(engine.NotFound, "run %s asks nothing more: what it asked has its answer", run.ID)
	}
	return nil, engine.Refuse(engine.NotFound, "run %s asks nothing: it is %s in state %s", run.ID,
		inspect.Outcome(run), run.State)
}
