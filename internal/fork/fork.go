// Package fork finds the places in the history of a run where another run can begin, and what the run remembered there. It
// sees no disk.
package fork

import "loops/fsm"

// A Point is one step of a run, not of its sub-loops: a state that was entered.
type Point struct {
	Step    int
	State   string
	Seq     uint64 // the event that says so
	Started bool   // its action was started
	Done    uint64 // the first event that came of it; 0 = none yet
	Handler bool   // it is what the loop does when a cap was reached
}

// A Track is the steps of a run, from its events. The zero Track has none.
type Track struct {
	Points []Point // oldest first
	Last   uint64  // the last event

	handler bool
}

// follows are the events of a visit behind which its state, what it said, or where it led is not what it was.
var follows = map[string]bool{
	"action_complete": true, "action_killed": true, "action_error": true, "action_interrupted": true, "evaluate": true, "route": true,
	"messages_append": true, "retry_exhausted": true, "handoff_detected": true,
}

// Add takes the next event of the run.
func (t *Track) Add(e fsm.Event) {
	t.Last = e.Seq
	var now *Point
	if n := len(t.Points); n > 0 {
		now = &t.Points[n-1]
	}
	switch {
	case e.Depth == 0 && e.Kind == "state_enter":
		t.enter(e, now)
	case e.Depth == 0 && (e.Kind == "max_steps_summary" || e.Kind == "max_iterations_reached_summary"):
		t.handler = true
	case e.Depth == 0 && e.Kind == "loop_resume":
		t.handler = false
	case now == nil:
	case e.Depth == 0 && e.Kind == "action_start":
		now.Started = true
	case now.Done == 0 && (e.Depth > 0 || follows[e.Kind]):
		now.Done = e.Seq
	}
}

func (t *Track) enter(e fsm.Event, now *Point) {
	step, _ := e.Get("iteration").(int64)
	state, _ := e.Get("state").(string)
	resumed, _ := e.Get("resumed").(bool)
	if now != nil && now.Step == int(step) && now.State == state && resumed {
		return // the same visit, gone on with
	}
	t.Points = append(t.Points, Point{Step: int(step), State: state, Seq: e.Seq, Handler: t.handler})
}

// At returns the point of a step, nil if no state was entered in it.
func (t *Track) At(step int) *Point {
	for i := range t.Points {
		if t.Points[i].Step == step {
			return &t.Points[i]
		}
	}
	return nil
}

// Of returns the steps in which a state was entered.
func (t *Track) Of(state string) (steps []int) {
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
func (p Point) Memory(before, after Recorded) *fsm.Snapshot {
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
			return &fsm.Snapshot{Loop: m.Loop, Phase: fsm.PhasePending, Current: p.State, StartedAt: m.StartedAt, Context: m.Context, Captured: fsm.NewMap()}
		}
	}
	return nil
}
