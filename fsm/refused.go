package fsm

import (
	"cmp"
	"strings"

	"loops/fsm/value"
)

// forGood reports whether no prompt to the same host can succeed until a user does something (D28). What an agent
// writes is never that: it may write any text.
func (f Failure) forGood() bool {
	switch f {
	case FailAuth, FailBilling, FailModel, FailMissing:
		return true
	}
	return false
}

// refusedForGood reports whether a prompt failed permanently.
func refusedForGood(res *Result) bool {
	return res != nil && res.ExitCode != 0 && res.Reply != nil && res.Reply.Failure.forGood()
}

// refusal is the error of a run that ends because a prompt of a state failed permanently.
func refusal(st *State, r *Reply, stderr string) string {
	what := map[Failure]string{
		FailAuth:    "the key or the login is refused",
		FailBilling: "the account has to be paid for, or its limit raised",
		FailModel:   "the host has no such model for this account",
		FailMissing: "the host is not installed",
	}[r.Failure]
	if r.Host != "" {
		what += " (" + r.Host + ")"
	}
	why := cmp.Or(r.Reason, strings.TrimSpace(stderr))
	switch {
	case why == "":
	case r.Failure == FailMissing:
		what = why // which says it all
	default:
		what += ": " + value.Truncate(why, 300)
	}
	return "the prompt of state " + st.Name + " cannot succeed: " + what
}

// judgesFailure reports whether the author of a state looks at the exit code of its prompt, and so has said what a prompt
// that fails leads to, permanently or not.
func judgesFailure(st *State) bool { return st.Evaluate != nil && st.Evaluate.Type == "exit_code" }

// takesError reports whether a sub-loop state says itself where an error leads. A next does not: it takes what nothing else takes.
func takesError(st *State) bool {
	if st.Next != "" {
		return st.On["error"] != ""
	}
	return outcomeSlot(st, "error", false) != ""
}

// unanswered is how a run ends whose host refused: it can be resumed once the limit is over, or the cause is removed.
func (d decision) unanswered() Outcome {
	if d.refused != "" {
		return Outcome{TerminatedBy: EndError, Error: d.refused, Refused: true}
	}
	return Outcome{TerminatedBy: EndError, Error: "No valid transition", Limited: true}
}
