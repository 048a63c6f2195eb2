package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// Reason says in one bounded line why a run ended: what was recorded of that, or what follows from the rest of its
// record. "" = it has not ended.
//
// Of a submitted run that no process owns it adds what workers do about it.
func Reason(r persistence.Run) string {
	text, place := recordedReason(r), bounded(PlacementText(r))
	if text == "" || place == "" {
		return text + place
	}
	return text + "; " + place
}

func recordedReason(r persistence.Run) string {
	if r.Status == persistence.Running && r.Ended == "" {
		return ""
	}
	text := r.Reason
	switch {
	case text != "":
	case r.Why != "":
		text = "interrupted in state " + r.State + ": " + r.Why
	case r.Error != "":
		text = HonestError(r)
	case r.Message != "":
		text = humanize.FirstLine(r.Message)
	case r.Ended == fsm.EndInterrupted: // by a signal or by LOOP_STOP: that is in the reason, where there is one
		text = "interrupted in state " + r.State
	case r.Ended != "":
		text = (&Because{}).reason(outcomeOf(r), &fsm.Loop{MaxSteps: r.MaxSteps, MaxIterations: r.Passes})
	case r.Status == persistence.Interrupted:
		text = "interrupted in state " + r.State + ": its process" + pidOf(r) + " is gone"
	}
	if r.Ignored != "" && r.Status == persistence.Completed {
		text = strings.TrimSuffix("completed, "+r.Ignored+"; "+text, "; ")
	}
	return bounded(text)
}

// pidOf names the process that ran a run, where its record does.
func pidOf(r persistence.Run) string {
	if r.Owner.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", r.Owner.PID)
}

// bounded is a text as a reason is recorded and shown: one line of harmless text.
func bounded(text string) string {
	return humanize.Cut(humanize.PlainLine(humanize.FirstLine(text)), reasonLength)
}

// Over reports whether a run that ended so failed and cannot be resumed.
func Over(o fsm.Outcome) bool {
	s := persistence.StatusOf(o)
	return s != persistence.Completed && !s.CanGoOn(o.Retriable())
}

// outcomeOf is the outcome of a run, as far as its record has it.
func outcomeOf(r persistence.Run) fsm.Outcome {
	return fsm.Outcome{
		TerminatedBy: r.Ended, FinalState: r.State, Steps: r.Step, Failure: r.Status == persistence.Failed,
		Error: r.Error, Duration: r.Elapsed, Limited: r.Limited, Reason: r.Reason, Ignored: r.Ignored, Merge: r.Merge,
		SuspendedBy: r.SuspendedBy, Remedy: r.Remedy, FailedItems: r.FailedItems, Continuation: r.Continuation,
	}
}
