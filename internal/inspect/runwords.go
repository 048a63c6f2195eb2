package inspect

import (
	"fmt"
	"time"

	"loops/persistence"
)

// StatusWord is the status of a run, also where its record cannot be read.
func StatusWord(r persistence.Run) string {
	if r.Status == "" {
		return "unreadable"
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
	if r.Status == persistence.Running && !r.UpdatedAt.IsZero() {
		return r.Elapsed + max(0, time.Since(r.UpdatedAt))
	}
	return r.Elapsed
}
