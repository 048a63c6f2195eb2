package inspect

import (
	"fmt"
	"time"

	"loops/persistence"
)

// UnknownOwner is the word for a run that says running where nobody can tell whether a process runs it.
const UnknownOwner = "unknown owner"

// StatusWord is the status of a run, also where its record cannot be read.
func StatusWord(r persistence.Run) string {
	if r.Status == "" {
		return "unreadable"
	}
	if r.Unowned && r.Status == persistence.Running {
		return UnknownOwner
	}
	return string(r.Status)
}

// StepText writes the step of a run, with its cap where it is known.
func StepText(r persistence.Run) string {
	if r.MaxSteps > 0 {
		return fmt.Sprintf("%d/%d", r.Step, r.MaxSteps)
	}
	return fmt.Sprint(r.Step)
}

// Elapsed returns how long a run has run, with the time since its last record while it is running.
func Elapsed(r persistence.Run) time.Duration {
	if r.Status == persistence.Running && !r.Unowned && !r.UpdatedAt.IsZero() {
		return r.Elapsed + max(0, time.Since(r.UpdatedAt))
	}
	return r.Elapsed
}

// Outcomes are the words by which [Outcome] tells ends apart that have one status.
var Outcomes = []string{"capped", "stopped", "killed", "stalled", "budget", "limited"}

// Outcome is how a run stands or ended, in one word: its status where that says it, and otherwise what ended it. A run is killed where its
// process is gone and recorded no end.
func Outcome(r persistence.Run) string {
	switch {
	case r.Status == persistence.UserStopped:
		return "stopped"
	case r.Status == persistence.Interrupted && r.Ended == "":
		return "killed"
	case r.Ended == "" || r.Status == persistence.Completed || r.Status == persistence.Running || r.Status == persistence.Awaiting:
		return StatusWord(r)
	}
	return EndKind(outcomeOf(r))
}
