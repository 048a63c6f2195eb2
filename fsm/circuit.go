package fsm

import (
	"time"
)

// A Circuit shares rate limits among the runs of a project. Its methods may be called by several runs at once.
type Circuit interface {
	// Limited notes that a host refused, and that no run should ask it before until. An error means that others are not
	// notified; the run continues.
	Limited(host string, until time.Time) error
	// Answered notes that a host answered what it was asked at that time: what was noted of it before is over.
	Answered(host string, asked time.Time) error
	// Refused returns which host refused ("" = it is not known) and until when no run should ask it. The time
	// is zero, or past, if host may be asked. An unknown host on either side may be the same.
	Refused(host string) (by string, until time.Time)
	// Block notes that no run can use an agent, or a model of one, until a person does something. An error means that
	// others are not notified.
	Block(s Suspension) error
	// Blocked returns what was noted of an agent or a model by its name ([Suspension.By]), nil for nothing. try is
	// true for one run a minute: it asks the agent, for all of them, whether that still holds.
	Blocked(by string) (s *Suspension, try bool)
}

// Agents know the agents that a Runner may ask. It is not part of the Runner, which may be wrapped.
type Agents interface {
	// HostFor returns the name of the host of a prompt that names this one ("" = none), as in [Reply.Host]. It reports
	// false where there is none, so that the prompt is refused at once.
	HostFor(name string) (host string, found bool)
	// KeepsCost reports whether a host ends a prompt that costs more than [Action.MaxCost].
	KeepsCost(host string) bool
	// Remedy returns what a person does about an agent that cannot be used, as "run `claude login`"; "" = nothing is
	// known.
	Remedy(host string, cause Failure) string
}

// circuitLook is how often a run that waits for others looks whether the host answers again.
const circuitLook = 5 * time.Second

// refused returns which host refuses prompts that name this host, and until when, as other runs have noted.
func (e *Executor) refused(name string) (by string, until time.Time) {
	if f := e.cfg.Agents; f != nil {
		found := false
		if name, found = f.HostFor(name); !found {
			return "", time.Time{}
		}
	}
	by, until = e.cfg.Circuit.Refused(name)
	return by, until.Round(0).UTC()
}

// awaitCircuit waits as long as the host of that name ("" = the Runner's choice) refuses other runs, at most as long as
// the state waits for a rate limit of its own. It reports false if the run was stopped, or its time was up, meanwhile.
func (e *Executor) awaitCircuit(st *State, host string) bool {
	if e.woken || e.cfg.Circuit == nil {
		e.woken = false
		return true
	}
	around := e.mem.Wait
	for since := e.wall(); ; {
		by, until := e.refused(host)
		if most := since.Add(st.RateLimitMaxWait); until.After(most) {
			until = most
		}
		d := until.Sub(e.wall())
		if d <= 0 {
			return true
		}
		e.plan(WaitCircuit, "", st.Name, d+time.Millisecond)
		e.mem.Wait.Host = by
		if by == "" {
			by = "an agent host"
		}
		e.announceWait(by + " refused another run of this project for its rate")
		e.sleepUntil(e.timeUp, func() bool {
			_, until := e.refused(host)
			return !until.After(e.wall())
		})
		if e.halts() {
			return false // the wait stays on record, here and below: when the run is resumed, it waits too
		}
		if !e.woken && !e.mem.Flushing && e.loopTimeout() != pass {
			return false
		}
		e.mem.Wait = around
		if !e.mem.Flushing && e.usedUp(needTime) != nil {
			return true // whether a budget allows it is the next question
		}
		if e.woken {
			e.woken = false
			return true
		}
	}
}

// tellCircuit lets other runs know until when the host refuses.
func (e *Executor) tellCircuit(host string) {
	w := e.mem.Wait
	if e.cfg.Circuit == nil || !w.Until.After(e.wall()) {
		return
	}
	if err := e.cfg.Circuit.Limited(host, w.Until); err != nil {
		e.emit(EventWarning, Field{"state", w.State},
			Field{"message", "other runs do not learn of the rate limit: " + err.Error()})
	}
}

// clearCircuit lets other runs know that the host answers.
func (e *Executor) clearCircuit(res Result, model string) {
	r := res.Reply
	if e.cfg.Circuit == nil || r == nil || r.Host == "" || r.Failure != "" || res.ExitCode != 0 {
		return
	}
	err := e.cfg.Circuit.Answered(r.Host, e.wall().Add(-res.Duration))
	if err == nil && model != "" {
		err = e.cfg.Circuit.Answered(ModelOf(r.Host, model), e.wall().Add(-res.Duration))
	}
	if err != nil {
		e.emit(EventWarning, Field{"state", e.mem.Current},
			Field{"message", "other runs do not learn that " + r.Host + " answers again: " + err.Error()})
	}
}
