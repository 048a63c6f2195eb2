package fsm

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"loops/fsm/value"
)

// permanent reports whether no prompt to the same host can succeed until a user does something (D29). The host
// says so, never the text of an agent, which may hold any words.
func (f Failure) permanent() bool {
	switch f {
	case FailAuth, FailBilling, FailModel, FailMissing, FailPermission:
		return true
	}
	return false
}

// cause says what a user has to see to. It is "" for a failure that is not permanent.
func (f Failure) cause() string {
	return map[Failure]string{
		FailAuth:       "the key or the login is refused",
		FailBilling:    "the account has to be paid for, or its limit raised",
		FailModel:      "the host has no such model for this account",
		FailMissing:    "the host is not installed",
		FailPermission: "it needs a permission that no user can give here",
	}[f]
}

// Exit codes of a tool call whose server or tool is not there, or whose configuration cannot be used.
const (
	toolUnusable = 2
	toolMissing  = 127
)

// refusedCall are texts with which servers refuse, with the status 403, what no request can get until a person does
// something: each is known of an API.
var refusedCall = []string{
	"insufficient_quota", "billing", "payment required", "credit balance", "quota exceeded for",
	"account is suspended", "account suspended",
	"bad credentials", "expired token", "token expired", "token has expired", "invalid api key", "invalid_api_key",
	"api key not valid",
	"api key expired", "resource not accessible by", "permission_denied", "insufficient_scope",
}

// callRefused reports whether a request cannot succeed until a person does something.
func callRefused(res *Result) bool {
	if res.Response == nil {
		return false
	}
	body := strings.ToLower(res.Stdout)
	return slices.Contains([]int{401, 402, 407}, res.Response.Status) ||
		res.Response.Status == 403 && slices.ContainsFunc(refusedCall, func(text string) bool {
			return strings.Contains(body, text)
		})
}

// permanentFailure returns why the action of a state cannot succeed until a user does something: a prompt by
// what its host says, a request by its status, a tool by its exit code, a git push by what git says. It returns nil if
// the action worked, or may work the next time. Other scripts are never judged (D5).
func permanentFailure(st *State, res *Result) *Suspension {
	if res == nil || res.ExitCode == 0 || res.TimeoutKind != "" {
		return nil
	}
	switch kind := KindOf(st); {
	case kind == KindPrompt && res.Reply != nil && res.Reply.Failure.permanent():
		return &Suspension{
			By: res.Reply.suspends(st.Model), Cause: res.Reply.Failure,
			Why: "the prompt of state " + st.Name + " cannot succeed: " + res.Reply.refusal(res.Stderr),
		}
	case kind == KindHTTP && callRefused(res):
		return &Suspension{
			Cause: FailServer,
			Why: "the call of state " + st.Name + " cannot succeed: the server answered " +
				value.Truncate(strings.TrimSpace(res.Stderr), 300),
		}
	case kind == KindShell && pushRefused(st, res) != "":
		return &Suspension{
			By: pushRefused(st, res), Cause: FailServer,
			Why: "the push of state " + st.Name + " cannot succeed: " +
				value.Truncate(strings.TrimSpace(res.Stderr), 300),
		}
	case kind == KindMCP && (res.ExitCode == toolMissing || res.ExitCode == toolUnusable):
		server, _, _ := strings.Cut(st.Action, "/")
		return &Suspension{
			By: "mcp:" + server, Cause: FailServer,
			Why: "the tool of state " + st.Name + " cannot be called: " +
				cmp.Or(value.Truncate(strings.TrimSpace(res.Stderr), 300), st.Action+" was not found"),
		}
	}
	return nil
}

// refusal says what a user has to see to, and what the host said of it.
func (r *Reply) refusal(stderr string) string {
	what := r.Failure.cause()
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
	return what
}

// permanent is [permanentFailure] of a machine that does not treat such failures as verdicts.
func (e *Executor) permanent(st *State, res *Result) *Suspension {
	if e.cfg.PermanentVerdicts {
		return nil
	}
	s := permanentFailure(st, res)
	if s != nil && KindOf(st) == KindHTTP {
		s.By = e.serverOf(st)
	}
	return s
}

// errorSlot returns where the author of a state leads errors: on_error, or error or _error of the route table;
// "" = nowhere. The one state of a branch or an item has routes that no author wrote.
func (e *Executor) errorSlot(st *State) string {
	switch {
	case e.inline:
		return ""
	case st.On["error"] != "":
		return st.On["error"]
	case declared(st, "error") != "" || st.Route == nil:
		return declared(st, "error")
	}
	return st.Route.Error
}

// declared returns where a key of exactly this verdict leads; "" = there is none.
func declared(st *State, verdict string) string {
	if st.Route == nil {
		return st.On[verdict]
	}
	to, _ := st.Route.Table.Value(verdict).(string)
	return to
}

// permanentSlot returns where a permanent failure of an action leads: as an error does, or where a key names
// what a tool came to.
func (e *Executor) permanentSlot(st *State, res *Result) string {
	if KindOf(st) == KindMCP && !e.inline && st.OnSuspended == "" {
		name := "tool_error"
		if res.ExitCode == toolMissing {
			name = "not_found"
		}
		if to := declared(st, name); to != "" {
			return to
		}
	}
	by := ""
	if s := e.permanent(st, res); s != nil {
		by = s.By
	}
	return e.suspendedSlot(st, by)
}

// judgeRefused decides where a verdict leads that stands for a permanent failure of a judge. It reports false
// for any other verdict. Without a route for errors, the result waits: a resumed run asks again, and does not
// act again.
func (e *Executor) judgeRefused(st *State, v Verdict) (decision, bool) {
	s := e.judgeSuspension(st, v)
	if s == nil {
		return decision{}, false
	}
	slot := e.suspendedSlot(st, s.By)
	if slot == "" {
		return decision{unjudged: true, refused: s.Why, suspended: s}, true
	}
	return e.leadsSuspended(st, slot, s.Why, e.scope(value.NewMap("verdict", v.Name, "details", v.Details))), true
}

// unanswered decides where a branch or an item leads whose host does not answer: to on_error, of a rate limit
// to on_rate_limit_exhausted before that, or to an end of the run after which it can be resumed.
func (e *Executor) unanswered(st *State, o *Outcome) decision {
	switch {
	case !e.takesUnanswered(st, o):
		return unansweredInside("", o)
	case o.Limited && st.OnRateLimitExhausted != "":
		return e.limitsInside(st)
	case o.TerminatedBy == EndSuspended && st.OnSuspended != "":
		return e.leadsSuspended(st, st.OnSuspended, o.Error, e.scope(nil))
	case o.Limited:
		return e.exception(st, errors.New("the agent host is still rate-limited, and the waits for that are used up"))
	}
	return e.exception(st, errors.New(o.Error))
}

// unansweredInside is how a run ends because a loop, a branch or an item inside its state ended so. what begins
// the error.
func unansweredInside(what string, o *Outcome) decision {
	if o.Limited {
		return decision{limited: true}
	}
	d := decision{refused: what + o.Error}
	if o.TerminatedBy == EndSuspended {
		d.suspended = &Suspension{By: o.SuspendedBy, Cause: o.Cause, Why: d.refused}
	}
	return d
}

// limitsInside follows on_rate_limit_exhausted of a state that runs a loop, branches or items.
func (e *Executor) limitsInside(st *State) decision {
	target, err := e.target(st.OnRateLimitExhausted, e.scope(nil))
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}

// refusedAsVerdict reports whether a prompt failed permanently by the rules of D28, which hold where such
// failures are verdicts.
func (e *Executor) refusedAsVerdict(st *State, res *Result) bool {
	return e.cfg.PermanentVerdicts && KindOf(st) == KindPrompt && permanentFailure(st, res) != nil &&
		res.Reply.Failure != FailPermission
}

// judgesFailure reports whether the author of a state looks at the exit code of its prompt, and so has said
// what a prompt that fails leads to, permanently or not. It matters only by the rules of D28.
func judgesFailure(st *State) bool { return st.Evaluate != nil && st.Evaluate.Type == "exit_code" }

// takesUnanswered reports whether a state takes that its host, or one inside it, does not answer. Only by the
// rules of D28 do on_no and _ of a sub-loop state take a permanent failure.
func (e *Executor) takesUnanswered(st *State, o *Outcome) bool {
	if o.Limited {
		return st.OnRateLimitExhausted != "" || e.errorSlot(st) != ""
	}
	if o.TerminatedBy == EndSuspended {
		return e.suspendedSlot(st, o.SuspendedBy) != ""
	}
	if st.Loop == "" || st.Each != nil || !e.cfg.PermanentVerdicts || st.Next != "" {
		return e.errorSlot(st) != ""
	}
	return outcomeSlot(st, "error", false) != ""
}
