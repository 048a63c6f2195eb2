package engine

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// A Question is one that a run asks.
type Question struct {
	Run      persistence.Run
	Question *fsm.OpenQuestion
}

// QuestionsOf returns the questions of a run that have no answer yet. asked is how many it asks with those whose answer
// it has not seen. A run that cannot continue asks nothing.
func QuestionsOf(ctx context.Context, store *project.Records, r persistence.Run) (open []Question, asked int,
	err error,
) {
	m, err := store.Snapshot(ctx, r.ID)
	if err != nil && m == nil {
		return nil, 0, store.Failed(err)
	}
	if !r.Resumable && !project.Alive(r) {
		return nil, 0, nil
	}
	all := m.Questions()
	for _, q := range Unanswered(ctx, store, r.ID, all) {
		open = append(open, Question{r, q})
	}
	return open, len(all), nil
}

// AllQuestions returns the open questions of all runs. Those of a run that cannot be read are left out.
func AllQuestions(ctx context.Context, store *project.Records) (open []Question, err error) {
	runs, err := OpenRuns(ctx, store)
	for _, r := range runs {
		if more, _, err := QuestionsOf(ctx, store, r); err == nil {
			open = append(open, more...)
		}
	}
	return open, err
}
