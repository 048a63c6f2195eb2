package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"loops/fsm"
)

// rule names the rule that chose the next state, and says so where that cannot be known: the definition may be another
// one than the visit was made with, so that what it says is checked against where the run went.
func (x *explainer) rule(route fsm.Event) string {
	to := str(route, "to")
	switch reason := str(route, "reason"); reason {
	case "":
	case "maintain":
		return "its loop has maintain: true, and begins again"
	default:
		return strings.ReplaceAll(reason, "_", " ")
	}
	if as, _ := route.Get(fsm.FieldAsError).(bool); as {
		return x.refused(to)
	}
	if text := x.forced(to); text != "" {
		return x.written(text, to)
	}
	verdict, judged := "yes", false
	if e := x.v.find(fsm.EventEvaluate); e != nil {
		verdict, judged = str(*e, "verdict"), true
	}
	if x.st == nil {
		if judged {
			return "that is where the verdict " + quoted(verdict) + " led, by a definition that is not known"
		}
		return "by a definition that is not known"
	}
	slot, text := x.slot(fsm.Followed(x.st, verdict), judged)
	text = x.written(text, slot)
	switch {
	case slot == to, slot == fsm.Current && to == x.v.State:
		return text
	case strings.Contains(slot, "${"):
		return fmt.Sprintf("%s, and %s came to that", text, slot)
	}
	if x.l.Maintain && slot == "" {
		return "none of its routes applies, and its loop has maintain: true"
	}
	if text := x.promptFailed(to); text != "" {
		return x.written(text, to)
	}
	return "the definition that was found says otherwise, so it is not the one that the run used"
}

// refused names the key that led on because an action or a judge cannot succeed until a person does something.
func (x *explainer) refused(to string) string {
	const why = ", because it cannot succeed until a person does something"
	if x.st == nil {
		return "as an error does" + why
	}
	keys := []string{"not_found", "tool_error", "error"}
	for _, key := range keys {
		if x.st.On[key] == to {
			return x.written("on_"+key+why, to)
		}
	}
	if r := x.st.Route; r != nil {
		for _, key := range keys {
			if r.Table.Value(key) == to {
				return "route." + key + why
			}
		}
		if r.Error == to {
			return "route._error" + why
		}
	}
	return "as an error does" + why
}

// written says of a key that leads where otherwise of the loop does that it may not be in the file.
func (x *explainer) written(rule, to string) string {
	if x.l != nil && to != "" && to == x.l.Otherwise {
		for _, key := range []string{"on_no", "on_error", "on_timeout", "on_partial"} {
			if rest, ok := strings.CutPrefix(rule, key); ok && (rest == "" || rest[0] == ',') {
				return key + " (as otherwise says)" + rest
			}
		}
	}
	return rule
}

// promptFailed names the rule of a prompt that led on without a look at its verdict, because its host failed.
func (x *explainer) promptFailed(to string) string {
	e := x.v.find(fsm.EventActionComplete)
	if e == nil || whole(*e, "exit_code") == 0 {
		return ""
	}
	if prompt, _ := e.Get("is_prompt").(bool); !prompt {
		return ""
	}
	switch {
	case to == x.st.On["error"]:
		return "on_error, because its prompt failed"
	case x.st.Route != nil && to == x.st.Route.Error:
		return "route._error, because its prompt failed"
	}
	return ""
}

// forced finds what chose the next state before the rules of the state had their say.
func (x *explainer) forced(to string) string {
	judged := false // behind the event that is looked at
	for i := len(x.v.Events) - 1; i >= 0; i-- {
		e := x.v.Events[i]
		next := str(e, "next")
		switch e.Kind {
		case fsm.EventEvaluate:
			judged = true
		case fsm.EventStallDetected:
			if str(e, "action") == "route:"+to {
				return "on_repeated of circuit.repeated_failure"
			}
		case fsm.EventActionError:
			if route := str(e, "route"); route == fsm.RouteSuspended {
				return route + ", because a person has to do something first"
			} else if route != "" {
				return route + ", because something went wrong around the action"
			}
		case fsm.EventActionInterrupted:
			return "on_interrupted, because its action had been cut short"
		case fsm.EventThrottleHard:
			if next == to {
				return "on_throttle_hard, or else on_error"
			}
		case fsm.EventRateLimitExhausted:
			if next == to {
				return "on_rate_limit_exhausted, or else on_error"
			}
		case fsm.EventBudgetExceeded:
			if next == to {
				return "on_budget"
			}
		case fsm.EventHostBudgetExceeded:
			if str(e, "action") == "route:"+to {
				return "host_guard.budget_state"
			}
		case fsm.EventAPIErrorRetry, fsm.EventInfraRetry:
			if to == x.v.State {
				return "to try its prompt again"
			}
		case fsm.EventNote:
			if wait := str(e, "wait"); wait == fsm.WaitRateLimit && to == x.v.State && !judged {
				return "to try its prompt again when the host may be asked"
			}
		}
	}
	return ""
}

// slot returns what the definition says about a verdict, as it is written, and how to name that rule.
func (x *explainer) slot(verdict string, judged bool) (slot, text string) {
	st := x.st
	code, acted := x.v.Exit()
	onError := st.On["error"]
	if st.Loop != "" && !judged {
		return x.subSlot()
	}
	if st.Next != "" {
		switch {
		case acted && code != 0 && onError != "" && st.RetryableExitCodes != nil &&
			!contains(st.RetryableExitCodes, code) && st.OnRetryExhausted != "":
			return st.OnRetryExhausted,
				fmt.Sprintf("on_retry_exhausted, because exit code %d is not in retryable_exit_codes", code)
		case acted && code != 0 && onError != "":
			return onError, "on_error, because its action failed"
		}
		return st.Next, "next"
	}
	if verdict == "error" && st.RetryableExitCodes != nil && !contains(st.RetryableExitCodes, code) {
		if s := cmp.Or(st.OnRetryExhausted, onError); s != "" {
			return s, fmt.Sprintf("exit code %d is not in retryable_exit_codes", code)
		}
	}
	if abstained := strings.HasPrefix(verdict, "cannot_judge"); abstained && !declares(st, verdict) {
		if x.v.To() == x.v.State {
			return x.v.State, "the judge abstained, so it is asked again"
		}
		if st.Route != nil {
			return st.Route.Error, "route._error, because the judge abstained too often"
		}
		return onError, "on_error, because the judge abstained too often"
	}
	what := ""
	if !judged {
		what = ", because there was nothing to judge"
	}
	if st.Route == nil {
		return plainSlot(st, verdict, what)
	}
	if st.Route.Cases != nil {
		return x.listSlot(verdict)
	}
	return tableSlot(st.Route, verdict, what)
}

// plainSlot is slot of a state with on_yes and its relatives.
func plainSlot(st *fsm.State, verdict, what string) (slot, text string) {
	switch {
	case st.On[verdict] != "":
		return st.On[verdict], "on_" + verdict + what
	case verdict == "no" && st.On["error"] != "":
		return st.On["error"], "on_error, because there is no on_no"
	case verdict == fsm.VerdictGuarded && st.OnGuarded != "":
		return st.OnGuarded, "on_guarded"
	case verdict == "interrupted" && st.OnInterrupted != "":
		return st.OnInterrupted, "on_interrupted"
	}
	return "", "no rule"
}

// listSlot is slot of a state whose route is a list. What the expressions saw is no longer known, but where the
// run went is.
func (x *explainer) listSlot(verdict string) (slot, text string) {
	if r := x.st.Route; verdict == "error" {
		return r.Error, "on_error"
	}
	for _, row := range x.st.Route.Cases {
		if row.To == x.v.To() {
			return row.To, "route: " + row.Condition()
		}
	}
	return "", "no rule"
}

// tableSlot is slot of a state with a route table.
func tableSlot(r *fsm.Route, verdict, what string) (slot, text string) {
	if v, ok := r.Table.Get(verdict); ok {
		s, _ := v.(string)
		return s, "route." + verdict + what
	}
	none := fmt.Sprintf(", because route has no %s", quoted(verdict))
	switch {
	case verdict == "error" && r.Error != "":
		return r.Error, "route._error" + what
	case r.Default != "":
		return r.Default, "route._" + none
	case verdict == "no" && r.Error != "":
		return r.Error, "route._error" + none
	}
	return "", "no rule"
}

// subSlot is slot of a state whose sub-loop ended.
func (x *explainer) subSlot() (slot, text string) {
	st, key, good := x.st, "error", false
	if e := x.v.Ended; e != nil {
		failed, _ := e.Get("failure_terminal").(bool)
		switch str(*e, "terminated_by") {
		case fsm.EndTerminal:
			key, good = "no", false
			if !failed {
				key, good = "yes", true
			}
		case fsm.EndError:
		case fsm.EndTimeout, fsm.EndMaxSteps, fsm.EndMaxIterations:
			key = "timeout"
		default:
			key = "no"
		}
	}
	if st.Route != nil && st.Route.Cases != nil && st.Next == "" {
		return x.listSlot(key)
	}
	why := x.subEnd()
	if st.Next != "" {
		if !good && st.On["error"] != "" {
			return st.On["error"], "on_error" + why
		}
		return st.Next, "next" + why
	}
	if st.Route == nil {
		if s := st.On[key]; s != "" || good {
			return s, "on_" + key + why
		}
		return st.On["no"], "on_no" + why
	}
	if v, ok := st.Route.Table.Get(key); ok {
		s, _ := v.(string)
		return s, "route." + key + why
	}
	v, _ := st.Route.Table.Get("no")
	no, _ := v.(string)
	type row struct{ slot, name string }
	rows := []row{{st.Route.Default, "_"}, {no, "no"}, {st.Route.Error, "_error"}}
	switch {
	case good:
		rows = rows[:1]
	case key == "error":
		rows = []row{rows[2], rows[0], rows[1]}
	}
	for _, r := range rows {
		if r.slot != "" {
			return r.slot, "route." + r.name + why
		}
	}
	return "", "no rule"
}

func (x *explainer) subEnd() string {
	switch {
	case x.v.Ended != nil:
	case x.v.find(fsm.EventWorktreeError) != nil:
		return ", because there was no work tree for its sub-loop"
	default:
		return ", because nothing is recorded of the end of its sub-loop"
	}
	return fmt.Sprintf(", because its sub-loop ended in %s [%s]", str(*x.v.Ended, "final_state"),
		str(*x.v.Ended, "terminated_by"))
}

func declares(st *fsm.State, verdict string) bool {
	if st.Route != nil {
		_, ok := st.Route.Table.Get(verdict)
		return ok
	}
	return st.On[verdict] != ""
}

func contains(codes []int, code int) bool {
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return false
}
