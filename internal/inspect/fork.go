package inspect

import (
	"loops/fsm"
	"loops/fsm/value"
)

// A ForkPoint is a place where another run can begin: one step of a run, not of its sub-loops, in which a state
// was entered.
type ForkPoint struct {
	Step    int
	State   string
	Seq     uint64 // the event that says so
	Started bool   // its action was started
	Done    uint64 // the first event that came of it; 0 = none yet
	Handler bool   // it is what the loop does when a cap was reached
}

// A ForkTrack finds the places where a run can be forked, from its events. It remembers only the newest of them.
type ForkTrack struct {
	Last uint64 // the last event

	point   *ForkPoint
	visits  Reader
	newest  *Visit // of the run itself
	handler bool
}

// follows are the events of a visit behind which its state, what it said, or where it led is not what it was.
var follows = map[string]bool{
	fsm.EventActionComplete: true, fsm.EventActionKilled: true, fsm.EventActionError: true,
	fsm.EventActionInterrupted: true, fsm.EventEvaluate: true, fsm.EventRoute: true,
	fsm.EventMessagesAppend: true, fsm.EventRetryExhausted: true, fsm.EventHandoffDetected: true,
	fsm.EventHandoffSpawned: true,
}

// Add takes the next event of the run and returns the newest place, which the events after it complete; nil = there is
// none yet. Each place has a pointer of its own.
func (t *ForkTrack) Add(e fsm.Event) *ForkPoint {
	t.Last = e.Seq
	v := t.visits.Add(e)
	if e.Depth == 0 {
		if v != t.newest && v.Index >= 0 {
			t.newest = v
			t.point = &ForkPoint{Step: v.Step, State: v.State, Seq: e.Seq, Handler: t.handler}
			return t.point
		}
		switch e.Kind {
		case fsm.EventMaxStepsSummary, fsm.EventMaxIterationsSummary:
			t.handler = true
		case fsm.EventLoopResume:
			t.handler = false
		}
	}
	now := t.point
	switch {
	case now == nil:
	case e.Depth == 0 && e.Kind == fsm.EventActionStart:
		now.Started = true
	case now.Done == 0 && (e.Depth > 0 || follows[e.Kind]):
		now.Done = e.Seq
	}
	return now
}

// Recorded is one of the two memories around the event of a point: the last one before it, or the first with it
// or after it.
type Recorded struct {
	Seq    uint64
	Memory *fsm.Snapshot // nil = none
}

// Memory returns what the run remembered before a point, which changes the memory it is made of; nil if neither of
// those around it has that.
func (p ForkPoint) Memory(before, after Recorded) *fsm.Snapshot {
	if m := before.Memory; m != nil && m.Phase == fsm.PhasePending && m.BeforeStep(p.Step, p.State) {
		return m
	}
	if m := after.Memory; m != nil && (p.Done == 0 || after.Seq < p.Done) && m.BeforeStep(p.Step, p.State) {
		return m
	}
	if p.Step != 1 {
		return nil
	}
	// The first state was entered with nothing but the context, which never changes.
	for _, m := range []*fsm.Snapshot{after.Memory, before.Memory} {
		if m != nil && m.Context != nil {
			return &fsm.Snapshot{
				Loop: m.Loop, Phase: fsm.PhasePending, Current: p.State, StartedAt: m.StartedAt,
				Context: m.Context, Captured: new(value.Map),
			}
		}
	}
	return nil
}
