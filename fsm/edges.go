package fsm

import (
	"fmt"
	"strings"
)

// visits returns how often the current state was entered: each transition to it was counted, and where a run
// begins, or a cap sends it, there is none.
func (e *Executor) visits() int {
	m, l, n := e.mem, e.cfg.Loop, 0
	for edge, times := range m.Edges.All() {
		if strings.HasSuffix(edge, "->"+m.Current) && l.States[strings.TrimSuffix(edge, "->"+m.Current)] != nil {
			n += times
		}
	}
	if m.Current == l.Initial || m.StepsCapped && m.Current == l.OnMaxSteps || m.PassCapped &&
		m.Current == l.OnMaxIterations {
		n++
	}
	return max(1, n)
}

// cycle counts the edge to next and ends the run when it was taken too often.
func (e *Executor) cycle(next string) bool {
	m, max := e.mem, e.cfg.Loop.MaxEdgeRevisits
	edge := m.Current + "->" + next
	n := m.Edges.Get(edge) + 1
	m.Edges = m.Edges.With(edge, n)
	if n <= max {
		return false
	}
	e.emit(EventCycleDetected, Field{"edge", edge}, Field{"from", m.Current}, Field{"to", next},
		Field{"count", int64(n)}, Field{"max", int64(max)})
	e.finish(EndCycle, fmt.Sprintf("edge %s was taken %d times, max_edge_revisits is %d", edge, n, max))
	return true
}
