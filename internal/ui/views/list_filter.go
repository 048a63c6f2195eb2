package views

import (
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// StatusQueued is what a run that waits in the queue shows as: it is no run yet, so no store knows the word.
const StatusQueued = "queued"

// Bad selects at least the runs that [EndedBadly].
func Bad() persistence.Filter {
	return persistence.Filter{Statuses: badStatuses, Unmerged: true}
}

var badStatuses = []persistence.Status{persistence.Failed, persistence.Interrupted, persistence.Running, persistence.TimedOut}

// EndedBadly reports whether a run ended so that a user has to look at it: it failed, timed out, came to its cap or the end
// of its budget, its process died, it completed and was not merged, or the machine lacked what an action needs to start. One that a person stopped did not.
func EndedBadly(r persistence.Run) bool {
	switch r.Status {
	case persistence.Running:
		return !project.Alive(r) && !r.Unowned
	case persistence.Interrupted:
		return r.Ended != fsm.EndInterrupted || r.Limited
	}
	return inspect.Wasted(r) || r.Unmerged()
}
