package progress

import (
	"time"

	"loops/fsm/value"
	"loops/internal/ui"
	"loops/persistence"
)

// A Queued is what is reported of a waiter.
type Queued struct {
	Waiter persistence.Waiter
	For    persistence.Obstacle
	Text   string // what it waits for, for a person
	First  bool   // nothing was reported before
	Now    time.Time
	Log    string // where a process in the background writes while it waits
}

// ObstacleObject is what a waiter waits for.
func ObstacleObject(o persistence.Obstacle) any {
	return value.NewMap("loop", ui.OrNull(o.Loop), "instance_id", ui.OrNull(string(o.Run)), "queue_id", ui.OrNull(o.Waiter), "path", ui.OrNull(o.Path), "since", ui.Stamp(o.Since))
}
