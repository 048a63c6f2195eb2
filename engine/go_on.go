package engine

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// GoOnRemedy returns what continues a run as it is recorded: with a higher limit if it ended at one.
func GoOnRemedy(ctx context.Context, store *project.Records, r persistence.Run) Remedy {
	remedy := ResumeRemedy(r.Ended, string(r.ID), r.MaxSteps, 0)
	if r.Ended != fsm.EndBudget {
		return remedy
	}
	_ = store.Newest(ctx, r.ID, func(e fsm.Event) bool {
		if e.Kind != fsm.EventBudgetExceeded {
			return e.Kind != fsm.EventStateEnter || e.Depth > 0 // it is recorded in the state that ended the run
		}
		remedy.With = []Setting{RaisedLimit(e)}
		return false
	}) // what cannot be read leaves the words as they are
	return remedy
}
