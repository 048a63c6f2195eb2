package live

import (
	"time"

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
