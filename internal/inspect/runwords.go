package inspect

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"loops/fsm"
	"loops/persistence"
)

// UnknownOwner is the word for a run that says running where it is not known whether a process runs it.
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

// Paused is the word for a run that is alive and paused: its status is running.
const Paused = "paused"

// Suspended is the word for a run that a person has to do something for first: its status is awaiting_continuation.
const Suspended = "suspended"

// Unmerged is the word for a run that completed, and was not merged although that was asked for: its status is
// completed.
const Unmerged = "unmerged"

// Outcomes are the words by which [Outcome] and [OutcomeNow] distinguish runs that have one status.
var Outcomes = []string{
	Unmerged, "capped", "stopped", "killed", "stalled", "budget", "limited", "parked",
	"handed_off", Suspended, Paused,
}

// Outcome is in one word where a run is, or how it ended: its status where that says it, and otherwise what
// ended it. A run is killed where its process is gone and recorded no end.
func Outcome(r persistence.Run) string {
	switch {
	case r.Status == persistence.UserStopped:
		return "stopped"
	case r.Status == persistence.Completed && r.Unmerged():
		return Unmerged
	case r.Status == persistence.Interrupted && r.Ended == "":
		return "killed"
	case r.Ended == "" || r.Status == persistence.Completed || r.Status == persistence.Running:
		return StatusWord(r)
	case r.Status == persistence.Awaiting:
		return awaits(r)
	}
	return EndKind(outcomeOf(r))
}

// awaits returns what a run waits for that no process carries.
func awaits(r persistence.Run) string {
	switch r.Ended {
	case fsm.EndParked:
		return "parked"
	case fsm.EndHandoff:
		return "handed_off"
	case fsm.EndSuspended:
		return Suspended
	}
	return StatusWord(r)
}

// OutcomeNow is [Outcome] of a run that waits for something: nil where it is not known to. A live run may be paused.
func OutcomeNow(r persistence.Run, waits *fsm.Wait) string {
	if r.Status == persistence.Running && r.Ended == "" && waits != nil && waits.Why == fsm.WaitPaused {
		return Paused
	}
	return Outcome(r)
}

// ReasonNow is [Reason], or what a run that has not ended waits for.
func ReasonNow(r persistence.Run, waits *fsm.Wait) string {
	switch reason := Reason(r); {
	case reason != "" || waits == nil:
		return reason
	case waits.Why == fsm.WaitPaused:
		return bounded(pausedText(waits))
	}
	return bounded("waits for " + WaitText(waits))
}

// statuses are all that a record may have; "" = it cannot be read.
var statuses = []persistence.Status{
	persistence.Running, persistence.Completed, persistence.Failed, persistence.Interrupted, persistence.TimedOut,
	persistence.Awaiting,
	persistence.UserStopped, persistence.Starting, persistence.Queued, "",
}

// endings are what a record may say that ended a run, but for what newer programs say.
var endings = []string{
	"", fsm.EndTerminal, fsm.EndMaxSteps, fsm.EndMaxIterations, fsm.EndTimeout, fsm.EndInterrupted,
	fsm.EndUserStopped, fsm.EndSystemSignal, fsm.EndError,
	fsm.EndHandoff, fsm.EndParked, fsm.EndSuspended, fsm.EndCycle, fsm.EndStall, fsm.EndHostPressure,
	fsm.EndHostBudget, fsm.EndBudget, fsm.EndCostCeiling,
	fsm.EndWorkdirVanished, endNoRoute,
}

// RecordedAs returns the statuses, and what ended them, with which runs may be recorded for which [StatusWord] or
// [Outcome] is one of the words: others are not. Where too many ends belong to a word, ends is nil: any may be
// recorded.
func RecordedAs(words ...string) (all []persistence.Status, ends []string) {
	some := false
	for _, status := range statuses {
		for _, ended := range append(slices.Clip(endings), "another") {
			if !slices.ContainsFunc(words, func(word string) bool {
				return slices.Contains(wordsOf(status, ended), word)
			}) {
				continue
			}
			all, ends = append(all, status), append(ends, ended)
			some = some || ended == "another"
		}
	}
	slices.Sort(all)
	slices.Sort(ends)
	if all, ends = slices.Compact(all), slices.Compact(ends); some {
		ends = nil
	}
	return all, ends
}

// wordsOf are the words that a run may have that is recorded so.
func wordsOf(status persistence.Status, ended string) (all []string) {
	now := []persistence.Status{status}
	if status == persistence.Running { // its process may be dead
		now = append(now, persistence.Interrupted)
	}
	for _, status := range now {
		for _, flag := range []bool{false, true} {
			r := persistence.Run{Status: status, Ended: ended, Limited: flag, Unowned: flag}
			all = append(all, StatusWord(r), Outcome(r))
			if status == persistence.Running {
				all = append(all, Paused)
			}
			if status == persistence.Completed {
				all = append(all, Unmerged)
			}
		}
	}
	return all
}

// Words are all that [StatusWord] and [Outcome] may say.
func Words() []string { return everyWord() }

var everyWord = sync.OnceValue(func() []string {
	all := []string{UnknownOwner, "unreadable"}
	for _, status := range statuses {
		for _, ended := range endings {
			all = append(all, wordsOf(status, ended)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
})
