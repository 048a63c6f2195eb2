package lint

import (
	"slices"
	"strings"

	"loops/fsm"
)

// A graph holds which state names which, whatever it takes to get there. States are numbers, in file order.
type graph struct {
	index   map[string]int
	next    [][]int
	dynamic []bool // a target of the state is a template, which may lead anywhere
	initial int    // -1 if it is no state
	seeds   []int  // where a run can come to from anywhere
	open    bool   // one of the targets of the loop itself is a template
}

func newGraph(l *fsm.Loop, states []*fsm.State) *graph {
	g := &graph{
		index: make(map[string]int, len(states)), next: make([][]int, len(states)),
		dynamic: make([]bool, len(states)), initial: -1,
	}
	for i, s := range states {
		g.index[s.Name] = i
	}
	if i, ok := g.index[l.Initial]; ok {
		g.initial = i
	}
	for i, s := range states {
		for _, to := range targets(s) {
			if isTemplate(to) {
				g.dynamic[i] = true
			} else if j, ok := g.index[to]; ok {
				g.next[i] = append(g.next[i], j)
			}
		}
	}
	tops := []string{
		l.OnMaxSteps, l.OnMaxIterations, l.OnBudget, l.HostGuard.PressureState, l.HostGuard.BudgetState,
		l.HostGuard.OnAbortRoute,
	}
	if l.Stall != nil && l.Stall.OnRepeated != "abort" {
		tops = append(tops, l.Stall.OnRepeated)
	}
	for _, to := range tops {
		g.open = g.open || isTemplate(to)
		if i, ok := g.index[to]; ok {
			g.seeds = append(g.seeds, i)
		}
	}
	return g
}

func isTemplate(s string) bool { return strings.Contains(s, "${") }

// targets returns every target of a state but the state itself where it is named $current, in an order that
// does not change.
func targets(s *fsm.State) []string {
	return slices.DeleteFunc(everyTarget(s), func(to string) bool { return to == fsm.Current })
}

// everyTarget returns every target of a state, $current too.
func everyTarget(s *fsm.State) []string {
	var out []string
	add := func(to string) {
		if to != "" {
			out = append(out, to)
		}
	}
	add(s.Next)
	for _, verdict := range verdicts(s) {
		add(s.On[verdict])
	}
	if s.Route != nil {
		for _, verdict := range s.Route.Table.Keys() {
			add(tableTarget(s.Route, verdict))
		}
		for _, row := range s.Route.Cases {
			add(row.To)
		}
		add(s.Route.Default)
		add(s.Route.Error)
	}
	add(s.OnMaintain)
	add(s.OnRetryExhausted)
	add(s.OnRateLimitExhausted)
	add(s.OnThrottleHard)
	add(s.OnInterrupted)
	add(s.OnGuarded)
	add(s.OnSuspended)
	add(s.OnBudget)
	return out
}

// verdicts returns the keys of On, sorted.
func verdicts(s *fsm.State) []string {
	switch len(s.On) {
	case 0:
		return nil
	case 1:
		for v := range s.On {
			return []string{v}
		}
	}
	keys := make([]string, 0, len(s.On))
	for v := range s.On {
		keys = append(keys, v)
	}
	slices.Sort(keys)
	return keys
}

func tableTarget(r *fsm.Route, verdict string) string {
	v, _ := r.Table.Get(verdict)
	to, _ := v.(string)
	return to
}

// reach walks from the given states along next, not through those that stop says, and returns for each state the one it
// was first reached from (itself for a start), or -1. budget, if not nil, limits the states that are looked at; it is
// negative afterwards if that was too few.
func reach(next [][]int, from []int, stop func(int) bool, budget *int) []int {
	by := make([]int, len(next))
	for i := range by {
		by[i] = -1
	}
	var queue []int
	visit := func(i, from int) {
		if by[i] < 0 && (stop == nil || !stop(i)) {
			by[i] = from
			queue = append(queue, i)
		}
	}
	for _, i := range from {
		if i >= 0 {
			visit(i, i)
		}
	}
	for k := 0; k < len(queue); k++ {
		i := queue[k]
		if budget != nil {
			if *budget -= 1 + len(next[i]); *budget < 0 {
				return by
			}
		}
		for _, j := range next[i] {
			visit(j, i)
		}
	}
	return by
}

// path follows what reach returned back to its start.
func path(by []int, to int) []int {
	var p []int
	for i := to; ; i = by[i] {
		p = append(p, i)
		if by[i] == i || by[i] < 0 {
			break
		}
	}
	slices.Reverse(p)
	return p
}
