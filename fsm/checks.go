package fsm

import (
	"errors"
)

// The checks before a state is entered, in their order. It differs from the reference in D2: a run that has
// reached its terminal is done, whatever its caps say.
var checks = []func(*Executor) result{
	(*Executor).stopRequested,
	(*Executor).handlerDone,
	(*Executor).stateExists,
	(*Executor).held,
	(*Executor).forgetStay,
	(*Executor).terminal,
	(*Executor).workdir,
	(*Executor).stepCap,
	(*Executor).passCap,
	(*Executor).loopTimeout,
	(*Executor).budgetLeft,
	(*Executor).retryLimit,
}

// A result of a check decides how the turn continues.
type result int

const (
	pass  result = iota // to the next check
	again               // with a new turn: another state is pending now
	ended               // not at all: the run is over
)

// A Stop is the cause ([context.Cause]) of a graceful stop: the action in flight is ended, its result is
// discarded, and the run ends as interrupted in the state it was in (D8).
type Stop struct {
	Signal string // SIGINT, SIGTERM, SIGHUP, SIGQUIT, or "" for a stop without one
	ByUser bool   // asked for by the stop command: ends as user_stopped
	By     string // the name of that user; "" = it is not known
}

func (s *Stop) Error() string {
	if s.Signal != "" {
		return "stopped by " + s.Signal
	}
	return "stopped"
}

func (e *Executor) stopRequested() result {
	if e.stopAsked() {
		return ended
	}
	return pass
}

// handlerDone ends a run whose cap handler has had its turn, whatever the handler routed to.
func (e *Executor) handlerDone() result {
	switch {
	case e.mem.StepsCapped:
		e.finish(EndMaxSteps, "")
	case e.mem.PassCapped:
		e.finish(EndMaxIterations, "")
	default:
		return pass
	}
	return ended
}

// uncap takes back a cap that was raised since it was reached: the run continues with the state that was about to be
// entered then, not with what its handler led to.
func (e *Executor) uncap() {
	m, l := e.mem, e.cfg.Loop
	if m.Ending != nil {
		return
	}
	steps, passes := m.StepsCapped && m.Step >= l.MaxSteps, m.PassCapped && m.Passes >= l.MaxIterations
	if m.CappedAt != "" && !steps && !passes {
		m.Phase, m.Current, m.Result, m.JustRouted, m.CappedAt = PhasePending, m.CappedAt, nil, true, ""
		m.forgetInside() // that of the handler
		if m.Previous == m.Current {
			m.Previous = "" // that this is another try was counted when the handler took its place
		}
	}
	m.StepsCapped, m.PassCapped = steps, passes
}

// endedInHandler reports whether the run ended so in the handler of a cap, which had no route on.
func (m *Snapshot) endedInHandler(o *Outcome) bool {
	return o != nil && m.Phase == PhaseActing &&
		(m.StepsCapped && o.TerminatedBy == EndMaxSteps || m.PassCapped && o.TerminatedBy == EndMaxIterations)
}

func (e *Executor) stateExists() result {
	if e.cfg.Loop.States[e.mem.Current] == nil {
		e.finish(EndError, unknownState(e.mem.Current))
		return ended
	}
	return pass
}

// forgetStay forgets what only counts within one stay in a state, once another state is next.
func (e *Executor) forgetStay() result {
	m := e.mem
	if m.Previous != "" && m.Previous != m.Current {
		delete(m.Retries, m.Previous)
		delete(m.Throttles, m.Previous)
		m.Spared = ""
	}
	return pass
}

// reentries returns how often in a row Current was entered again, the entry that is next included.
func (m *Snapshot) reentries() int {
	n := m.Retries[m.Current]
	if m.Previous == m.Current && m.Spared != m.Current {
		n++
	}
	return n
}

// countEntry counts the entry of Current. It is called where nothing can keep the run from entering the state
// any more, so that an entry that a limit put off is counted once.
func (m *Snapshot) countEntry() {
	n := m.reentries()
	if m.Previous == m.Current && m.Spared == m.Current {
		m.Spared = ""
	}
	if n == m.Retries[m.Current] {
		return
	}
	if m.Retries == nil {
		m.Retries = make(map[string]int)
	}
	m.Retries[m.Current] = n
}

func (e *Executor) terminal() result {
	m := e.mem
	st := e.cfg.Loop.States[m.Current]
	if !st.Terminal {
		return pass
	}
	if !e.cfg.Loop.Maintain {
		e.lastBefore, e.outcome = m.LastResult, ""
		e.remember(st, decision{})
		e.finish(EndTerminal, "")
		return ended
	}
	// A maintain run is never done: here its caps hold, as before any other state.
	for _, limit := range []func(*Executor) result{
		(*Executor).stepCap, (*Executor).passCap, (*Executor).loopTimeout,
	} {
		if limit(e) == ended {
			return ended
		}
	}
	if m.StepsCapped || m.PassCapped {
		return pass
	}
	next, err := e.restart(st)
	if err != nil {
		e.finish(EndError, err.Error())
		return ended
	}
	m.Step++
	m.Passes++
	e.emit(EventRoute, Field{"from", m.Current}, Field{"to", next}, Field{"reason", "maintain"})
	m.Previous, m.Current, m.JustRouted = m.Current, next, true
	e.record(false)
	return again
}

// restart is where a maintain loop starts over after st.
func (e *Executor) restart(st *State) (string, error) {
	if st.OnMaintain == "" {
		return e.cfg.Loop.Initial, nil
	}
	return e.target(st.OnMaintain, e.scope(nil))
}

// stepCap ends the run at the cap, or moves to the handler, which is then entered in this same turn. A state that
// a sub-loop has just led to still acts once before the handler, without being judged.
func (e *Executor) stepCap() result {
	m, l := e.mem, e.cfg.Loop
	if m.StepsCapped || m.Step < l.MaxSteps {
		return pass
	}
	if l.OnMaxSteps == "" {
		e.finish(EndMaxSteps, "")
		return ended
	}
	cappedAt := m.Current
	if st := l.States[m.Current]; m.Flushing || m.JustRouted && l.States[m.Previous] != nil &&
		l.States[m.Previous].Loop != "" && flushes(st) {
		if !e.flush(st) {
			return ended
		}
		m.Phase = PhasePending
	}
	e.emit(EventMaxStepsSummary, Field{"summary_state", l.OnMaxSteps}, Field{"iterations", int64(m.Step)})
	m.countEntry()
	m.StepsCapped, m.CappedAt, m.Current = true, cappedAt, l.OnMaxSteps
	return e.stateExists()
}

// flushes reports whether a state that a limit keeps from being entered can still act one last time.
func flushes(st *State) bool {
	return st != nil && !st.Terminal && st.Loop == "" && st.Action != ""
}

// flush lets a state act without judging it: the run is at its limit either way, so what goes wrong has nowhere
// to go. It reports false if the run is over.
func (e *Executor) flush(st *State) bool {
	m := e.mem
	acted := m.Flushing && (m.Phase == PhaseActed || m.Guard != nil && m.Guard.Breach != nil) // in another process
	if !m.Flushing {
		m.Step++
		m.Attempt, m.Tries, m.Flushing = 0, 0, true
	}
	var err error
	if acted {
		e.announce(true, true)
		err = e.inspect(st)
	} else {
		e.enter(true)
		if err = e.bindParam(st); err == nil {
			_, err = e.act(st)
		}
	}
	if errors.Is(err, errHalted) {
		if e.machine.broken == nil {
			e.finishStopped()
		}
		return false
	}
	if b, ok := errors.AsType[*breachError](err); ok {
		e.guarded(st, b) // it is told, and leads nowhere
	} else if _, ok := errors.AsType[unguardedError](err); ok {
		e.emit(EventWarning, Field{"state", st.Name}, Field{"message", err.Error()})
	}
	m.Guard = nil // what is next is not judged by it
	m.Phase, m.Flushing, m.Result, m.PendingRequest, m.PendingPayload = PhaseActing, false, nil, "", ""
	return e.machine.broken == nil
}

func (e *Executor) passCap() result {
	m, l := e.mem, e.cfg.Loop
	if m.StepsCapped || m.PassCapped || l.MaxIterations <= 0 || m.Passes < l.MaxIterations {
		return pass
	}
	if l.OnMaxIterations == "" {
		e.finish(EndMaxIterations, "")
		return ended
	}
	e.emit(EventMaxIterationsSummary, Field{"summary_state", l.OnMaxIterations},
		Field{"iteration_count", int64(m.Passes)})
	m.countEntry()
	m.PassCapped, m.CappedAt, m.Current = true, m.Current, l.OnMaxIterations
	return e.stateExists()
}

// loopTimeout ends a run that took too long, or a branch or an item of one. A shell state that was announced
// but not entered still acts once, without being judged.
func (e *Executor) loopTimeout() result {
	e.raiseLimits()
	m, l := e.mem, e.cfg.Loop
	switch {
	case e.clockOver():
	case e.over():
		e.finish(EndInterrupted, "") // it continues when the loop around it does
		return ended
	default:
		return pass
	}
	st := l.States[m.Current]
	if m.Flushing || m.Phase == PhasePending && m.JustRouted && flushes(st) && KindOf(st) == KindShell {
		if !e.flush(st) {
			return ended
		}
	}
	if e.machine.broken == nil {
		e.finish(EndTimeout, "")
	}
	return ended
}

func (e *Executor) retryLimit() result {
	m := e.mem
	st := e.cfg.Loop.States[m.Current]
	n := m.reentries()
	if st.MaxRetries <= 0 || n <= st.MaxRetries || m.StepsCapped || m.PassCapped {
		return pass
	}
	target, err := e.target(st.OnRetryExhausted, e.scope(nil))
	if err != nil {
		e.finish(EndError, err.Error())
		return ended
	}
	e.emit(EventRetryExhausted, Field{"state", m.Current}, Field{"retries", int64(n)}, Field{"next", target})
	delete(m.Retries, m.Current)
	m.Previous, m.Current = m.Current, target
	e.record(false)
	return again
}
