package cli

import (
	"context"
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/persistence"
)

// goOn is the command that goes on with a run as it is recorded: with a higher limit if it ended at one.
func (a *app) goOn(ctx context.Context, store *project.Records, r persistence.Run) string {
	if r.Ended != fsm.EndBudget {
		return a.resumeCommand(r.Ended, string(r.ID), r.MaxSteps, 0)
	}
	limit := "LIMIT=MORE"
	_ = store.Newest(ctx, r.ID, func(e fsm.Event) bool {
		if e.Kind != fsm.EventBudgetExceeded {
			return e.Kind != fsm.EventStateEnter || e.Depth > 0 // it is told in the state that ended the run
		}
		limit = engine.RaisedLimit(e)
		return false
	}) // what cannot be read leaves the words as they are
	return a.command("resume --budget "+limit, string(r.ID))
}

// tellUnpaused says that a pause was lifted: in the background to whoever started the run.
func (a *app) tellUnpaused(n engine.Unpaused, print progress.Printer, quiet bool) {
	switch {
	case n.Err != nil:
		print.Note(fmt.Sprintf("loops: run %s stays paused: %v", n.Run, n.Err))
	case quiet:
	case a.detached != nil:
		ui.SayLine(a.Err, "The pause of "+phrase.Clock(n.Since)+" is lifted.")
	default:
		print.Note("The pause of " + phrase.Clock(n.Since) + " is lifted.")
	}
}
