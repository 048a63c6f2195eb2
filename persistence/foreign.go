package persistence

import (
	"os"

	"loops/fsm"
)

// adopt works out what a run of the reference tool does not say: where in its state it stood, and its run id.
func (l *loaded) adopt(p place) {
	if l.runID == "" {
		l.runID = makeRunID(l.StartedAt)
	}
	if p.folder != "" {
		if id, _, ok := splitFolder(p.folder); ok {
			l.runID = id
		}
	}
	if l.Phase != "" {
		return
	}
	l.Phase = fsm.PhaseActing
	if l.status == Interrupted && l.reconciled.IsZero() && routedAway(p.events, l.Current) {
		// The tool routed the action it had killed: the state it names was never entered.
		l.Phase, l.JustRouted = fsm.PhasePending, true
	}
	if l.status != Running && l.status != Interrupted && l.status != Awaiting && l.status != UserStopped {
		l.Outcome = lastOutcome(p.events, l.status, &l.Snapshot)
	}
}

// routedAway says whether a route to this state was recorded after the last state was entered.
func routedAway(path, current string) bool {
	routed := false
	eachIn(path, func(e fsm.Event) {
		switch {
		case e.Depth > 0:
		case e.Kind == "state_enter":
			routed = false
		case e.Kind == "route":
			routed = e.Get("to") == current
		}
	})
	return routed
}

// lastOutcome reads how a finished run of the reference tool ended.
func lastOutcome(path string, status Status, s *fsm.Snapshot) *fsm.Outcome {
	o := &fsm.Outcome{FinalState: s.Current, Steps: s.Step, Duration: s.Elapsed}
	switch status {
	case Completed:
		o.TerminatedBy = fsm.EndTerminal
	case TimedOut:
		o.TerminatedBy = fsm.EndTimeout
	default:
		o.TerminatedBy = fsm.EndError
	}
	eachIn(path, func(e fsm.Event) {
		if e.Depth > 0 || e.Kind != "loop_complete" {
			return
		}
		if by, ok := e.Get("terminated_by").(string); ok {
			o.TerminatedBy = by
		}
		o.Failure, _ = e.Get("failure_terminal").(bool)
		o.Error, _ = e.Get("error").(string)
	})
	return o
}

func eachIn(path string, f func(fsm.Event)) {
	r, err := os.Open(path)
	if err != nil {
		return
	}
	defer r.Close()
	_ = eachEvent(r, path, func(e fsm.Event, err error) bool {
		if err == nil {
			f(e)
		}
		return true
	})
}
