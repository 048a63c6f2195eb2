package fsm

import (
	"errors"

	"loops/fsm/expr"
)

// A decision is the result of a visit to a state, before the run-wide rules have had their say.
type decision struct {
	target  string // "" = nowhere
	asError bool   // no verdict chose the target, see [FieldAsError]
	stall   string // text of a stall that ends the run
	fatal   string // text of an error that ends the run
	source  string // of that error, as in [Outcome]
	died    bool   // the action was killed by a signal that this program did not send
	limited bool   // a rate limit was waited out without success, and no route takes that
	refused string // why an action or a judge failed permanently, where no route takes that; "" = none did
	// the same, as what the run waits for; nil = it ends as an error
	suspended *Suspension
	retry     bool // the action is to be done again: the wait before that is in the memory
	waited    bool // the agent did not answer, and is asked again: nothing came of the visit
	halted    bool // stopped while acting, or not recorded: nothing was decided
	parked    bool // the same, because it waits and the run is not to be carried meanwhile

	unjudged bool // the same, of a judge: the result still waits for it

	nothing string // what the run says that ends here as completed, because there is nothing to do; "" = it does not

	overrun *overrun // the budget that ends the run here, before anything else was done
}

// unanswered is how a run ends whose host refused: it can be resumed once the limit is over, or the cause is removed.
func (d decision) unanswered() Outcome {
	if s := d.suspended; s != nil && s.By != "" {
		return Outcome{TerminatedBy: EndSuspended, Error: d.refused, Refused: true, SuspendedBy: s.By, Cause: s.Cause}
	}
	if d.refused != "" {
		return Outcome{TerminatedBy: EndError, Error: d.refused, Refused: true}
	}
	return Outcome{TerminatedBy: EndError, Error: "No valid transition", Limited: true}
}

// exception sends what went wrong around an action to on_error, or to _error of the route table (D11).
func (e *Executor) exception(st *State, err error) decision {
	if b, ok := errors.AsType[*breachError](err); ok {
		return e.guarded(st, b)
	}
	if _, ok := errors.AsType[unguardedError](err); ok && !errors.Is(err, ErrScarce) {
		return decision{refused: err.Error()}
	}
	if s, ok := errors.AsType[*Suspension](err); ok {
		return e.suspends(st, s)
	}
	e.breaks(err)
	if errors.Is(err, errHalted) || errors.Is(err, ErrScarce) || e.machine.broken != nil {
		return decision{halted: true}
	}
	// What the run remembered as it came here is on record then, as if the action had been started: when the
	// cause is fixed, the run can be forked here.
	if m := e.mem; m.Phase == PhaseActing && m.Attempt == 0 && acts(st) && !(e.record(false) && e.settle()) {
		return decision{halted: true}
	}
	var over *overrun
	if errors.As(err, &over) {
		return e.overspent(st, over)
	}
	slot, name := st.On["error"], "on_error"
	if slot == "" && st.Route != nil {
		slot, name = st.Route.Error, "_error"
	}
	var unresolved *expr.TemplateError
	text := err.Error()
	if slot == "" {
		if errors.As(err, &unresolved) {
			text = "in state " + st.Name + ": " + text
		}
		return decision{fatal: text, source: sourceOf(err)}
	}
	target, terr := e.target(slot, e.scope(nil))
	if terr != nil {
		return decision{fatal: text + "; and " + name + " cannot be followed: " + terr.Error()}
	}
	e.outcome = "error"
	fields := []Field{{"state", st.Name}, {"error", text}, {"route", name}}
	if source := sourceOf(err); source != "" {
		fields = append(fields, Field{"source", source})
	}
	e.emit(EventActionError, fields...)
	return decision{target: target}
}

// interrupted leaves a state whose action was started and cut short, as on_interrupted says.
func (e *Executor) interrupted(st *State) decision {
	target, err := e.target(st.OnInterrupted, e.scope(nil))
	if err != nil {
		return e.exception(st, err)
	}
	e.lastBefore, e.outcome = e.mem.LastResult, "interrupted"
	e.emit(EventActionInterrupted, Field{"state", st.Name}, Field{"attempt", int64(e.mem.Attempt)},
		Field{"next", target})
	return decision{target: target}
}
