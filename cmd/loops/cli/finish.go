package cli

import (
	"context"

	"loops/engine/project"
	"loops/persistence"
	"loops/reconcile"
)

// finish finishes what commands that were killed had begun: removals of runs, whose ids it returns, and imports.
func (a *app) finish(ctx context.Context, p *project.Project, store *project.Records) ([]persistence.ID, error) {
	forgetImports(ctx, store, p.RunsDir())
	ids, err := store.FinishRemovals(ctx)
	if err != nil {
		err = failure(exitFailed, "what removals that were cut short left is not all gone: %v; remove it by hand, or try again: %s", err, a.command("sweep"))
	}
	return ids, err
}

// finishedWhy says of a run why there was something to remove.
const finishedWhy = "its removal was cut short"

// finishedChanges are removals that were finished, as sweep tells them.
func finishedChanges(ids []persistence.ID) (changes []reconcile.Change) {
	for _, id := range ids {
		changes = append(changes, reconcile.Change{ID: id, Loop: project.LoopOf(string(id)), Kind: "remove", Why: finishedWhy})
	}
	return changes
}

func idObject(id persistence.ID) any { return string(id) }
