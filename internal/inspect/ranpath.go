package inspect

import (
	"loops/fsm"
	"loops/persistence"
)

// A Path is what a run did, from its events, but for its visits.
type Path struct {
	Run   persistence.Run
	end   *fsm.Event // its last loop_complete, if nothing came after it
	Costs *CostSheet
}

// Add takes the next event of the run, and the visit it belongs to; nil = none.
func (p *Path) Add(e fsm.Event, v *Visit) {
	p.Costs.AddTo(v, e)
	if e.Depth == 0 {
		if p.end = nil; e.Kind == fsm.EventLoopComplete {
			p.end = &e
		}
	}
}

// A Rulebook finds the loops whose rules a run followed.
type Rulebook interface {
	// Main returns the loop that the run is of, nil where it is not known.
	Main() *fsm.Loop
	// Of returns the loop that a visit belongs to, nil where it is not known.
	Of(v *Visit) *fsm.Loop
}
