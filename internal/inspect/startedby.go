package inspect

import (
	"strings"

	"loops/persistence"
)

// StartedByOption is the option in the record of a run that says what started it: see [StartedBy].
const StartedByOption = "started_by"

// ByRun is how [StartedBy] begins for a run that an action of another run started. The id of that run follows.
const ByRun = "run "

// StartedBy returns what started a run: "run ID" for an action of that run, "schedule TIME" for a schedule; ""
// for a user.
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

// ScheduledAtOption is the option in the record of a run that says for which time it was started: see [ScheduledAt].
const ScheduledAtOption = "scheduled_at"

// ScheduledAt returns the time of its schedule that a run was started for, RFC 3339 in the zone of the
// schedule. A run that was forked from it has the same. "" = no schedule started it.
func ScheduledAt(r persistence.Run) string {
	v, _ := r.Options.Get(ScheduledAtOption)
	at, _ := v.(string)
	return at
}
