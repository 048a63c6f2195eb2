package cli

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/fork"
	"loops/internal/trail"
)

// visits returns the two paths to compare. What a run did before the other one was forked from it is the way of both, so
// they begin with the step of the fork.
func (d *comparison) visits() (a, b []*trail.Visit) {
	paths := [2][]*trail.Visit{d.sides[0].visits, d.sides[1].visits}
	for i, p := range d.sides {
		other := d.sides[1-i].run
		from := p.run.Origin
		if from == nil || from.ID != other.ID {
			continue
		}
		n := slices.IndexFunc(paths[1-i], func(v *trail.Visit) bool { return v.Entered.Seq > from.Seq })
		if n < 0 {
			n = len(paths[1-i]) // the step was not entered yet
		}
		d.shared, paths[1-i] = n, paths[1-i][n:]
		d.fork = fmt.Sprintf("%s is a fork of %s: they are compared from step %d on.", p.run.ID, other.ID, from.Step)
	}
	return paths[0], paths[1]
}

// inFirst is a value of the second run with the working folder of the first in the place of its own: that it is another
// one is no difference.
func (d *comparison) inFirst(v any) any {
	dir := func(m *fsm.Snapshot) string {
		dir, _ := orEmpty(m.Context).Get("run_dir")
		return strings.TrimRight(text(dir), "/")
	}
	m := &fsm.Snapshot{Captured: fsm.NewMap("v", v)}
	fork.Rebase(m, []fork.Move{{From: dir(d.memory[1]), To: dir(d.memory[0])}})
	v, _ = m.Captured.Get("v")
	return v
}
