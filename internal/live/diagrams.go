package live

import (
	"strings"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/persistence"
)

// Diagrams returns a function that draws a loop, in so many columns, with the state that its run enters. find
// returns the loop of a run that another process carries; nil where that is not known, and then nothing is
// drawn.
func Diagrams(width int, colour bool, find func(persistence.ID) *fsm.Loop) Draw {
	var loop *fsm.Loop
	return func(l *fsm.Loop, run persistence.ID, previous, state string) []string {
		if loop == nil {
			if loop = l; len(l.States) == 0 {
				loop = find(run)
			}
			if loop == nil {
				loop = &fsm.Loop{}
			}
		}
		g := diagram.Of(loop)
		if len(g.Nodes) == 0 {
			return nil
		}
		m := diagram.Measure{Current: state}
		if previous != "" {
			m.Taken = []diagram.Step{{From: previous, To: state, Times: 1}}
		}
		g.Measure(m)
		// the last is blank, and a line below the drawing
		return strings.Split(humanize.Ours(g.Text(width, colour)), "\n")
	}
}
