package inspect

import (
	"strings"

	"loops/persistence"
)

// StartedByOption is the option in the record of a run that says what started it: see [StartedBy].
const StartedByOption = "started_by"

// ByRun is how [StartedBy] begins for a run that an action of another run started. The id of that run follows.
const ByRun = "run "

// StartedBy returns what started a run: "run ID" for an action of that run, "schedule TIME" for a schedule; "" for a user.
func StartedBy(r persistence.Run) string {
	v, _ := r.Options.Get(StartedByOption)
	by, _ := v.(string)
	return by
}

// Parent returns the run whose action started a run; "" if none did.
func Parent(r persistence.Run) persistence.ID {
	id, _ := strings.CutPrefix(StartedBy(r), ByRun)
	if id == StartedBy(r) {
		return ""
	}
	return persistence.ID(id)
}
