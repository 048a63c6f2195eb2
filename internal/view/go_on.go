package view

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// GoOn is the command that continues with a run as it is recorded: with a higher limit if it ended at one.
func GoOn(ctx context.Context, page *Page, store *project.Records, r persistence.Run) string {
	return page.Remedy(GoOnRemedy(ctx, store, r))
}

// GoOnRemedy is that command.
func GoOnRemedy(ctx context.Context, store *project.Records, r persistence.Run) engine.Remedy {
	remedy := engine.ResumeRemedy(r.Ended, string(r.ID), r.MaxSteps, 0)
	if r.Ended != fsm.EndBudget {
		return remedy
	}
	_ = store.Newest(ctx, r.ID, func(e fsm.Event) bool {
		if e.Kind != fsm.EventBudgetExceeded {
			return e.Kind != fsm.EventStateEnter || e.Depth > 0 // it is recorded in the state that ended the run
		}
		remedy.With = []engine.Setting{engine.RaisedLimit(e)}
		return false
	}) // what cannot be read leaves the words as they are
	return remedy
}
