package fsm

import (
	"cmp"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A Suspension is why a run cannot continue until a person does something.
type Suspension struct {
	// By is what the run waits for: an agent ("claude"), a model of one ("claude/haiku"), the server of a tool
	// ("mcp:github"), a server of git ("git:github.com"), or the host of an address ("api.example.com"). "" =
	// there is nothing to name: no agent is installed, and none was asked for.
	By    string
	Cause Failure
	Why   string // for users: the state, and what the host or the server said
}

// Error returns Why.
func (s *Suspension) Error() string { return s.Why }

// Shared reports whether no other run of the project can use the agent, or the model of it, either. A permission
// depends on the loop, and the login of a tool or an address on the state.
func (s *Suspension) Shared() bool {
	switch s.Cause {
	case FailAuth, FailBilling, FailModel, FailMissing:
		return s.By != "" && !s.outside()
	}
	return false
}

// outside reports whether the run waits for something that is no agent.
func (s *Suspension) outside() bool { return s.Cause == FailServer }

// FailServer is the Cause of a [Suspension] by a tool or an address. No reply has it.
const FailServer Failure = "server"

// ModelOf is the name by which a model of an agent is suspended, and not the agent.
func ModelOf(host, model string) string { return host + "/" + cmp.Or(model, OwnModel) }

// OwnModel stands for the model that an agent chooses by itself.
const OwnModel = "default"

// suspends routes a state whose action or judge cannot succeed until a person does something. Where no route takes
// that, the run is suspended: it keeps its step, and a resumed run does the action again.
func (e *Executor) suspends(st *State, s *Suspension) decision {
	slot := e.suspendedSlot(st, s.By)
	if slot == "" {
		return decision{refused: s.Why, suspended: s}
	}
	return e.leadsSuspended(st, slot, s.Why, e.scope(nil))
}

// leadsSuspended follows where a state leads an action or a judge that cannot succeed. on_suspended is on record, with
// why: no verdict says that it was followed.
func (e *Executor) leadsSuspended(st *State, slot, why string, scope *expr.Scope) decision {
	target, err := e.target(slot, scope)
	if err != nil {
		return e.exception(st, err)
	}
	if slot == st.OnSuspended {
		e.emit(EventActionError, Field{"state", st.Name}, Field{"error", why}, Field{"route", RouteSuspended})
		return decision{target: target}
	}
	return decision{target: target, asError: true}
}

// FieldAsError is true in an [EventRoute] that no verdict chose: an action or a judge cannot succeed until a
// person does something, and the state leads that where it leads errors.
const FieldAsError = "as_error"

// RouteSuspended is the route of an [EventActionError] where on_suspended was followed.
const RouteSuspended = "on_suspended"

// suspendedSlot returns where the author of a state leads an action or a judge that cannot succeed until a person does
// something: on_suspended, or as an error. The state that otherwise names is for failures, and this is none.
func (e *Executor) suspendedSlot(st *State, by string) string {
	slot := e.errorSlot(st)
	switch {
	case e.inline || e.cfg.PermanentVerdicts || by == "":
		return slot
	case st.OnSuspended != "":
		return st.OnSuspended
	case slot == e.cfg.Loop.Otherwise:
		return ""
	}
	return slot
}

// blocked returns why a prompt to a host must not begin: another run found that it cannot succeed. nil = it may.
//
// A run that a person resumed asks all the same, and so does one run a minute: it finds out whether that still holds.
func (e *Executor) blocked(st *State, host, model string) *Suspension {
	root := e.root()
	if e.cfg.Circuit == nil || e.cfg.PermanentVerdicts || root.asksAll {
		return nil
	}
	if f := e.cfg.Agents; f != nil {
		found := false
		if host, found = f.HostFor(host); !found {
			return nil // which costs nothing to find out
		}
	}
	for _, by := range []string{host, ModelOf(host, model)} {
		b, try := e.cfg.Circuit.Blocked(by)
		if root.asksAll = try; b != nil && !try {
			return &Suspension{
				By: by, Cause: b.Cause,
				Why: "state " + st.Name + " was not begun, because another run found: " + b.Why,
			}
		}
	}
	return nil
}

// tellBlocked notes for the other runs that no prompt to a host can succeed.
func (e *Executor) tellBlocked(s *Suspension) {
	if e.cfg.Circuit == nil || e.cfg.PermanentVerdicts || s == nil || !s.Shared() {
		return
	}
	e.root().asksAll = false
	if err := e.cfg.Circuit.Block(*s); err != nil {
		e.emit(EventWarning, Field{"state", e.mem.Current},
			Field{"message", "other runs do not learn that they cannot use " + s.By + ": " + err.Error()})
	}
}

// judgeSuspension returns why a judge cannot answer until a person does something; nil = it may.
func (e *Executor) judgeSuspension(st *State, v Verdict) *Suspension {
	text, _ := v.Details.Value("failure").(string)
	if v.Name != "error" || !Failure(text).permanent() || e.cfg.PermanentVerdicts {
		return nil
	}
	s := &Suspension{Cause: Failure(text), Why: "the judge of state " + st.Name + " cannot answer: " +
		value.Text(v.Details.Value("error"))}
	model := cmp.Or(st.Model, e.cfg.Loop.LLM.Model)
	if st.Evaluate != nil {
		model = cmp.Or(st.Evaluate.Model, model)
	}
	for _, a := range e.mem.Answers {
		if r := a.Result.Reply; r != nil && r.Failure == s.Cause {
			s.By = r.suspends(model)
		}
	}
	return s
}

// suspends returns the name of what a reply cannot be had from until a person does something. model is what was asked
// for; "" = the host's own.
func (r *Reply) suspends(model string) string {
	if r.Failure == FailModel && r.Host != "" {
		return ModelOf(r.Host, model)
	}
	return r.Host
}

// serverOf returns the host of the address that a state calls; the path of the address where it names none.
func (e *Executor) serverOf(st *State) string {
	_, call, err := expandAction(st, e.scope(nil))
	if err != nil || call == nil {
		return st.Name
	}
	_, rest, _ := strings.Cut(call.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	return host
}

// suspend adds to the outcome of the run itself what a person does.
func (e *Executor) suspend(o *Outcome) {
	s := Suspension{By: o.SuspendedBy, Cause: o.Cause, Why: o.Error}
	switch {
	case s.outside():
		o.Remedy = outsideRemedy(&s)
	case e.cfg.Agents != nil:
		host, _, _ := strings.Cut(s.By, "/")
		o.Remedy = e.cfg.Agents.Remedy(host, s.Cause)
	}
}

// outsideRemedy returns what a person does about something that is no agent.
func outsideRemedy(s *Suspension) string {
	if remote, push := strings.CutPrefix(s.By, pushPrefix); push {
		return "give git a login for " + remote + ", as a credential helper, a token or an SSH key, and try git push"
	}
	if server, tool := strings.CutPrefix(s.By, "mcp:"); tool {
		return "see that the server " + server + " is declared and can be started"
	}
	return "give the call a login that " + s.By + " takes"
}
