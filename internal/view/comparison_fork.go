package view

import (
	"fmt"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// begin returns the steps from which on the two runs are compared. What a run did before the other one was
// forked from it is the path of both, so they begin with the step of the fork.
func (d *Comparison) begin() (from [2]int) {
	for i, p := range d.Sides {
		other := d.Sides[1-i].Run
		origin := p.Run.Origin
		if origin == nil || origin.ID != other.ID {
			continue
		}
		from[1-i] = d.Steps[1-i].Behind(origin.Seq) // or the step was not entered yet
		d.shared = from[1-i]
		d.fork = fmt.Sprintf("%s is a fork of %s: they are compared from step %d on.", p.Run.ID, other.ID, origin.Step)
	}
	return from
}

// inFirst is a value of the second run with the working folder of the first instead of its own: that it is another
// one is no difference.
func (d *Comparison) inFirst(v any) any {
	dir := func(m *fsm.Snapshot) string {
		dir, _ := OrEmpty(m.Context).Get("run_dir")
		return strings.TrimRight(inspect.Text(dir), "/")
	}
	captured := new(value.Map)
	captured.Set("v", v)
	m := &fsm.Snapshot{Captured: captured}
	project.RebasePaths(m, []project.MovedFolder{{From: dir(d.Memory[1]), To: dir(d.Memory[0])}})
	v, _ = m.Captured.Get("v")
	return v
}
