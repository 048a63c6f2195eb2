package engine

import (
	"context"
	"errors"
	"time"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/persistence"
)

// LinkUsed returns when a link with this id answered a question of a run; zero = it did not.
func LinkUsed(ctx context.Context, store *project.Records, id persistence.ID, link string) (at time.Time, err error) {
	commands, err := store.Commands(ctx, id, 0)
	if _, damaged := errors.AsType[*persistence.DamageError](err); damaged || errors.Is(err, persistence.ErrNotFound) {
		err = nil // of a run that waits in its first state nothing is on record yet
	}
	for _, c := range commands {
		data, _ := c.Args.Value("data").(*value.Map)
		if c.Kind == persistence.CommandAnswer && data.Value("link") == link {
			return c.At, err
		}
	}
	return at, err
}
