package dirstore

import (
	"errors"
	"os"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// starting returns a run of little-loops of which there is only a .pid yet, whose process lives: that tool writes it
// before it waits for its scope and before its first state. Our own runs are not listed before they recorded something.
func (d *Store) starting(id persistence.ID) (persistence.Run, bool) {
	p := d.live(id)
	if disk.Exists(p.state) || disk.Exists(p.events) || disk.Exists(p.parts) {
		return persistence.Run{}, false
	}
	if l, err := readLock(p.lock); err == nil && l.Flock {
		return persistence.Run{}, false
	}
	st, err := os.Lstat(p.pid)
	if err != nil {
		return persistence.Run{}, false
	}
	at := st.ModTime().UTC()
	owner, recorded := d.foreignOwner(id, persistence.Owner{}, at)
	if !d.alive(owner, recorded) {
		return persistence.Run{}, false
	}
	r := persistence.Run{
		ID: id, Loop: string(id), Status: persistence.Starting, Owner: owner, Foreign: true,
		StartedAt: at, UpdatedAt: at, Log: p.pid,
	}
	if loop, began, ok := persistence.SplitID(id); ok {
		r.Loop, r.StartedAt = loop, began
	}
	r.RunID = persistence.MakeRunID(r.StartedAt)
	return r, true
}

// findListed is find, also of a run of which a listing knows only that it is starting: none of its files is there yet.
func (d *Store) findListed(id persistence.ID) (place, error) {
	p, err := d.find(id)
	if _, ok := errors.AsType[*persistence.StartingError](err); ok {
		return d.livePlace(id), nil
	}
	return p, err
}

// adopt works out what a run of little-loops does not say: where in its state it was, and its run id.
func (l *loaded) adopt(p place) {
	if l.runID == "" {
		l.runID = persistence.MakeRunID(l.StartedAt)
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
	if l.status == persistence.Interrupted && l.reconciled.IsZero() {
		l.interrupted(readEnding(p.events, l.Current))
	}
	if l.status == persistence.Awaiting { // that tool records no end of it
		l.Outcome = &fsm.Outcome{
			TerminatedBy: fsm.EndHandoff, FinalState: l.Current, Steps: l.Step,
			Duration: l.Elapsed, Continuation: l.Continuation,
		}
	}
	if l.status != persistence.Running && l.status != persistence.Interrupted && l.status != persistence.Awaiting &&
		l.status != persistence.UserStopped {
		l.Outcome = lastOutcome(p.events, l.status, &l.Snapshot)
	}
}

// olderMaxSteps is the end at the cap on steps as the first versions of little-loops wrote it.
const olderMaxSteps = "max_iterations"

// An ending is what the last events of a run of little-loops say about how it stopped.
type ending struct {
	by      string // terminated_by of the last loop_complete; "" without one
	routed  bool   // to the state the run names, after the last state was entered
	entered bool   // a state was, since the run was started or resumed
	steps   bool   // the handler of the step cap was started
	cap     int    // of steps, where that handler says it; 0 = unknown
	passes  bool   // the handler of the pass cap was started
}

func readEnding(path, current string) ending {
	var at ending
	eachIn(path, func(e fsm.Event) {
		switch {
		case e.Depth > 0:
		case e.Kind == fsm.EventLoopStart, e.Kind == fsm.EventLoopResume:
			at = ending{routed: at.routed}
		case e.Kind == fsm.EventStateEnter:
			at.routed, at.entered = false, true
		case e.Kind == fsm.EventRoute:
			at.routed = e.Get("to") == current
		case e.Kind == fsm.EventMaxStepsSummary:
			at.steps = true
			if n, ok := e.Get("iterations").(int64); ok {
				at.cap = int(n)
			}
		case e.Kind == fsm.EventMaxIterationsSummary:
			at.passes = true
		case e.Kind == fsm.EventLoopComplete:
			if at.by, _ = e.Get("terminated_by").(string); at.by == olderMaxSteps {
				at.by = fsm.EndMaxSteps
			}
		}
	})
	return at
}

// most returns the cap on steps of a run that ended at it: the step to which its states came, if they were
// entered under that cap. 0 = it is not known.
func (at ending) most(step int) int {
	switch {
	case at.by != fsm.EndMaxSteps:
		return 0
	case at.steps:
		return at.cap
	case at.entered:
		return step
	}
	return 0 // it was resumed when its steps were used up, perhaps with a cap that was lower
}

// interrupted places a run that can continue, and whose process said itself that it was interrupted: at a cap,
// by Ctrl-C or by LOOP_STOP. Which of the last two it was is not recorded, and neither is an end where Ctrl-C
// came twice.
func (l *loaded) interrupted(at ending) {
	if at.routed {
		// The tool routed the action it had killed: the state it names was never entered.
		l.Phase, l.JustRouted = fsm.PhasePending, true
	}
	l.Outcome = &fsm.Outcome{
		TerminatedBy: fsm.EndInterrupted, FinalState: l.Current, Steps: l.Step,
		Duration: l.Elapsed,
	}
	if at.by == fsm.EndMaxSteps || at.by == fsm.EndMaxIterations {
		l.StepsCapped, l.PassCapped = at.steps, at.passes
		l.maxSteps = at.most(l.Step)
		l.Outcome.TerminatedBy = at.by
	}
}

// lastOutcome reads how a finished run of little-loops ended.
func lastOutcome(path string, status persistence.Status, s *fsm.Snapshot) *fsm.Outcome {
	o := &fsm.Outcome{FinalState: s.Current, Steps: s.Step, Duration: s.Elapsed}
	switch status {
	case persistence.Completed:
		o.TerminatedBy = fsm.EndTerminal
	case persistence.TimedOut:
		o.TerminatedBy = fsm.EndTimeout
	default:
		o.TerminatedBy = fsm.EndError
	}
	eachIn(path, func(e fsm.Event) {
		if e.Depth > 0 || e.Kind != fsm.EventLoopComplete {
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
	r, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return
	}
	defer r.Close()
	events := segment.Forward{Yield: func(e fsm.Event, err error) bool {
		if err == nil {
			f(e)
		}
		return true
	}}
	_ = events.Read(r, path) // what can be read of it
}
