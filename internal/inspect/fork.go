package inspect

import (
	"loops/fsm"
	"loops/fsm/value"
)

// A ForkPoint is a place where another run can begin: one step of a run, not of its sub-loops, in which a state was entered.
type ForkPoint struct {
	Step    int
	State   string
	Seq     uint64 // the event that says so
	Started bool   // its action was started
	Done    uint64 // the first event that came of it; 0 = none yet
	Handler bool   // it is what the loop does when a cap was reached
}

// A ForkTrack is the places where a run can be forked, from its events. The zero ForkTrack has none.
type ForkTrack struct {
	Points []ForkPoint // oldest first
	Last   uint64      // the last event

	visits  Reader
	newest  *Visit // of the run itself
	handler bool
}

// follows are the events of a visit behind which its state, what it said, or where it led is not what it was.
var follows = map[string]bool{
	fsm.EventActionComplete: true, fsm.EventActionKilled: true, fsm.EventActionError: true, fsm.EventActionInterrupted: true, fsm.EventEvaluate: true, fsm.EventRoute: true,
	fsm.EventMessagesAppend: true, fsm.EventRetryExhausted: true, fsm.EventHandoffDetected: true,
}

// Add takes the next event of the run.
func (t *ForkTrack) Add(e fsm.Event) {
	t.Last = e.Seq
	v := t.visits.Add(e)
	if e.Depth == 0 {
		if v != t.newest && v.Index >= 0 {
			t.newest = v
			t.Points = append(t.Points, ForkPoint{Step: v.Step, State: v.State, Seq: e.Seq, Handler: t.handler})
			return
		}
		switch e.Kind {
		case fsm.EventMaxStepsSummary, fsm.EventMaxIterationsSummary:
			t.handler = true
		case fsm.EventLoopResume:
			t.handler = false
		}
	}
	if len(t.Points) == 0 {
		return
	}
	now := &t.Points[len(t.Points)-1]
	switch {
	case e.Depth == 0 && e.Kind == fsm.EventActionStart:
		now.Started = true
	case now.Done == 0 && (e.Depth > 0 || follows[e.Kind]):
		now.Done = e.Seq
	}
}

// At returns the point of a step, nil if no state was entered in it.
func (t *ForkTrack) At(step int) *ForkPoint {
	for i := range t.Points {
		if t.Points[i].Step == step {
			return &t.Points[i]
		}
	}
	return nil
}

// Of returns the steps in which a state was entered.
func (t *ForkTrack) Of(state string) (steps []int) {
	for _, p := range t.Points {
		if p.State == state {
			steps = append(steps, p.Step)
		}
	}
	return steps
}

// Recorded is one of the two memories around the event of a point: the last one before it, or the first with it or behind
// it.
type Recorded struct {
	Seq    uint64
	Memory *fsm.Snapshot // nil = none
}

// Memory returns what the run remembered before a point, which changes the memory it is made of; nil if neither of those
// around it tells.
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
			return &fsm.Snapshot{Loop: m.Loop, Phase: fsm.PhasePending, Current: p.State, StartedAt: m.StartedAt, Context: m.Context, Captured: value.NewMap()}
		}
	}
	return nil
}
