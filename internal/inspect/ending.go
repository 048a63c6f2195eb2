package inspect

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// EndKind is the name that notifications and services have for an end.
func EndKind(o fsm.Outcome) string {
	if o.Signal != "" {
		return "interrupted"
	}
	switch o.TerminatedBy {
	case fsm.EndTerminal:
		if o.Unmerged() {
			return Unmerged
		}
		if !o.Failure {
			return "completed"
		}
	case fsm.EndInterrupted, fsm.EndUserStopped:
		return "interrupted"
	case fsm.EndMaxSteps, fsm.EndMaxIterations:
		return "capped"
	case fsm.EndTimeout:
		return "timed_out"
	case fsm.EndCycle, fsm.EndStall:
		return "stalled"
	case fsm.EndHostPressure, fsm.EndHostBudget, fsm.EndBudget:
		return "budget"
	case fsm.EndSuspended:
		return Suspended
	case fsm.EndHandoff, fsm.EndParked:
		return "awaiting"
	case fsm.EndError:
		if o.Limited {
			return "limited"
		}
	}
	return "failed"
}

// Succeeded reports whether a run ended as its loop means it to: at a success terminal, and merged where that
// was asked for, or with a text LOOP_STOP.
func Succeeded(o fsm.Outcome) bool { return arrived(o) && !o.Unmerged() }

// arrived is Succeeded whether or not the run was merged.
func arrived(o fsm.Outcome) bool {
	return o.Signal == "" && !o.Limited &&
		(o.TerminatedBy == fsm.EndInterrupted || o.TerminatedBy == fsm.EndTerminal && !o.Failure)
}

// Explains reports whether the reason of a run belongs to the line about its end: it does unless the run came
// to a success terminal, and was merged where that was asked for.
func Explains(o fsm.Outcome) bool {
	return o.Unmerged() || o.TerminatedBy != fsm.EndTerminal || o.Failure || o.Signal != ""
}

// ComesNext reports whether a cap ended a run before it came to its final state: at is the one of its last visit.
func ComesNext(o fsm.Outcome, at string) bool {
	return o.TerminatedBy == fsm.EndMaxSteps && at != "" && o.FinalState != at
}

// EndAt is EndLine where what a run did is shown by state: it names none as the end that the run did not come to.
func EndAt(o fsm.Outcome, maxSteps int, at string) string {
	if !ComesNext(o, at) {
		return EndLine(o, maxSteps)
	}
	_, rest, _ := strings.Cut(EndLine(o, maxSteps), ": "+humanize.PlainLine(o.FinalState)+" (")
	return fmt.Sprintf("Loop %s in %s; %s would have been next (%s", humanize.PlainLine(EndWord(o, maxSteps)),
		humanize.PlainLine(at), humanize.PlainLine(o.FinalState), rest)
}

// Untransitioned says that a state has no transition for a verdict, and what would give it one. l may be nil.
func Untransitioned(l *fsm.Loop, state, verdict string) string {
	var st *fsm.State
	if l != nil {
		st = l.States[state]
	}
	state, verdict = humanize.PlainLine(state), humanize.PlainLine(verdict)
	advice := "give it on_" + verdict + ", or a route"
	switch {
	case st != nil && st.Route != nil && st.Route.Cases != nil:
		return fmt.Sprintf("no condition in the route of the state %s holds (verdict %s); end it with one without "+
			"when: {to: STATE}", state, verdict)
	case st != nil && st.Route != nil:
		advice = "add " + verdict + " to its route, or _ for every other verdict"
	case verdict == "success" || verdict == "failure": // on_success and on_failure are other words for on_yes and on_no
		advice = "give it a route with " + verdict
	}
	return fmt.Sprintf("the state %s has no transition for verdict %s; %s", state, verdict, advice)
}

// NoTransition is the error of a run whose last state led nowhere, as little-loops words it.
const NoTransition = "No valid transition"

// endNoRoute is how newer versions of little-loops record that a run ended whose last state led nowhere.
const endNoRoute = "no_route"

// EndWord says how a run ended, without where and when. maxSteps is 0 where it is not known.
func EndWord(o fsm.Outcome, maxSteps int) string {
	steps := "steps"
	if maxSteps > 0 {
		steps = humanize.Count(maxSteps, "step")
	}
	word := map[string]string{
		fsm.EndTerminal: "completed", fsm.EndMaxSteps: "stopped at its cap of " + steps,
		fsm.EndMaxIterations: "stopped at its cap of passes", fsm.EndTimeout: "timed out",
		fsm.EndInterrupted: "interrupted",
		fsm.EndUserStopped: "stopped", fsm.EndSystemSignal: "ended by a signal to its action",
		fsm.EndError:   "ended with an error",
		fsm.EndHandoff: "handed off", fsm.EndParked: "parked", fsm.EndSuspended: "suspended (blocked: needs you)",
		fsm.EndCycle: "stopped in a cycle", fsm.EndStall: "stopped without progress",
		fsm.EndHostPressure: "stopped for lack of memory", fsm.EndHostBudget: "stopped at its memory budget",
		fsm.EndBudget: "stopped at its budget", fsm.EndCostCeiling: "stopped at a cost ceiling",
		fsm.EndWorkdirVanished: "stopped without its working directory", endNoRoute: "ended with an error",
	}[o.TerminatedBy]
	switch {
	case word == "":
		word = o.TerminatedBy
	case o.Failure && o.TerminatedBy == fsm.EndTerminal:
		word = "failed"
	}
	if o.Signal != "" {
		word += " by " + o.Signal
	}
	if o.Unmerged() {
		word += ", but not merged"
	}
	if o.Ignored != "" && arrived(o) {
		word += ", " + o.Ignored
	}
	return word
}

// EndLine says in one line how a run ended, and in more its error, why it ended so, what its terminal state
// says, and how it would be continued.
func EndLine(o fsm.Outcome, maxSteps int) string {
	line := fmt.Sprintf("Loop %s: %s (%s, %s)", humanize.PlainLine(EndWord(o, maxSteps)),
		humanize.PlainLine(o.FinalState), humanize.Count(o.Steps, "step"), humanize.Duration(o.Duration))
	if o.Error != "" {
		line += "\nError: " + humanize.PlainLine(o.Error)
		for source := range strings.Lines(o.Source) {
			line += "\n" + humanize.PlainLine(strings.TrimSuffix(source, "\n"))
		}
	}
	if o.Reason != "" && Explains(o) {
		line += "\nReason: " + humanize.PlainLine(o.Reason)
	}
	for said := range strings.Lines(o.Message) {
		line += "\n" + humanize.PlainLine(strings.TrimSuffix(said, "\n"))
	}
	if o.Continuation != "" {
		line += "\nTo continue: " + humanize.PlainLine(humanize.FirstLine(o.Continuation))
	}
	return line
}

// RateLimited is the text for a run that ended because a rate limit lasted too long. What is recorded of it is the
// error of little-loops, which is that of a state without a way on.
const RateLimited = "the agent host is still rate-limited, and the waits for that are used up; resume the run later"

// HonestError is the error of a run as a text that says what happened.
func HonestError(r persistence.Run) string {
	if r.Limited && r.Error == NoTransition {
		return RateLimited
	}
	return r.Error
}

// Honest is an event of a run with its error as HonestError has it.
func Honest(e fsm.Event, r persistence.Run) fsm.Event {
	if !r.Limited || e.Kind != fsm.EventLoopComplete || e.Depth > 0 || Text(e.Get("error")) != NoTransition {
		return e
	}
	e.Fields = slices.Clone(e.Fields)
	for i, f := range e.Fields {
		if f.Key == "error" {
			e.Fields[i].Value = RateLimited
		}
	}
	return e
}
