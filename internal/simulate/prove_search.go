package simulate

import (
	"slices"

	"loops/fsm"
)

// A monitor watches for one thing in a run: each state that it enters moves it on.
type monitor struct {
	states int32 // how many it has, numbered from 0, in which it begins
	// enter returns the state of the monitor after a state of the run was entered. broken: that is what is looked for.
	// done: it cannot come any more.
	enter func(q int32, st *fsm.State) (next int32, broken, done bool)
	ends  bool // the end of the run is what is looked for
}

// A visitStep is one state of a path, with what leads out of it.
type visitStep struct {
	node int32
	word string // "" = nothing: the path ends there
	kind edgeKind
	// the state that the verdict leads to, and one more, even where a limit leads to the next one; 0 = the next one
	into int32
}

// A found is a path to what a monitor looks for.
type found struct {
	path []visitStep
	end  string // how the run ended, where that is what was looked for
	// the visit before which a limit ends the run, and one more; 0 = none does
	before int32
}

// plain reports whether an edge is taken by verdicts alone, so that a script of verdicts can take it.
func (e *proofEdge) plain() bool {
	return e.kind != byLimit || e.often == asRetries || e.word == "on_throttle_hard"
}

// plain reports whether a run ends so by verdicts alone.
func (e *proofEnd) plain() bool { return e.kind != byLimit || e.word == "on_throttle_hard" }

// An exploration has what can be reached, in the order of the number of steps.
type exploration struct {
	g      *proofGraph
	m      monitor
	parent []int32 // by node and state of the monitor; -1 = not reached, itself = the start
	edge   []int32 // of the parent's edges
	steps  []int32
	order  []int32
}

func (x *exploration) at(n, q int32) int32 { return n*x.m.states + q }

// mostExplored is how many pairs of a visit and a state of a monitor are looked at.
const mostExplored = 8_000_000

// explore walks through all that a run can come to within max_steps, by edges that take allows, until what the monitor
// looks for is found.
func (g *proofGraph) explore(m monitor, take func(*proofEdge) bool) (x *exploration, hit *found) {
	n := len(g.nodes) * int(m.states)
	x = &exploration{g: g, m: m, parent: make([]int32, n), edge: make([]int32, n), steps: make([]int32, n)}
	for i := range x.parent {
		x.parent[i] = -1
	}
	if len(g.nodes) == 0 {
		return x, nil
	}
	x.reached(x.at(g.start, 0), x.at(g.start, 0), 0, 0)
	for k := 0; k < len(x.order); k++ {
		at := x.order[k]
		v, q := at/m.states, at%m.states
		st, steps := g.stateOf(v), x.steps[at]
		if !g.passing(v) {
			if !g.terminal(v) && int(steps) >= g.l.MaxSteps {
				continue
			}
			next, broken, done := m.enter(q, st)
			switch {
			case broken:
				return x, &found{path: x.pathTo(at)}
			case done:
				continue
			case g.terminal(v) && m.ends:
				return x, &found{path: x.pathTo(at), end: fsm.EndTerminal}
			case g.terminal(v):
				continue
			}
			if m.ends {
				for _, e := range g.ends[v] {
					if e.plain() {
						path := x.pathTo(at)
						path[len(path)-1].word, path[len(path)-1].kind = e.word, e.kind
						return x, &found{path: path, end: e.end}
					}
				}
			}
			q, steps = next, steps+1
		}
		for i := range g.edges[v] {
			if e := &g.edges[v][i]; take(e) {
				x.reached(x.at(e.to, q), at, int32(i), steps) //nolint:gosec // a state has no more edges
			}
		}
	}
	return x, nil
}

// reached notes what was reached for the first time. What only stands between two visits is left at once, without a
// step.
func (x *exploration) reached(at, from, edge, steps int32) {
	if x.parent[at] >= 0 {
		return
	}
	x.parent[at], x.edge[at], x.steps[at] = from, edge, steps
	x.order = append(x.order, at)
	if v := at / x.m.states; x.g.passing(v) {
		x.order = x.order[:len(x.order)-1]
		if x.g.stateOf(v) != nil && int(steps) >= x.g.l.MaxSteps {
			return // max_steps comes before
		}
		for i, e := range x.g.edges[v] {
			x.reached(x.at(e.to, at%x.m.states), at, int32(i), steps) //nolint:gosec // a state has no more edges
		}
	}
}

// pathTo returns the path to what was reached, without a state that is known only in a run.
func (x *exploration) pathTo(at int32) []visitStep {
	path := []visitStep{{node: at / x.m.states}}
	for x.parent[at] != at {
		from := x.parent[at]
		v := from / x.m.states
		e := x.g.edges[v][x.edge[at]]
		if x.g.passing(v) {
			at = from
			continue
		}
		path = append(path, visitStep{v, e.word, e.kind, x.g.nodes[e.to].state + 1})
		at = from
	}
	slices.Reverse(path)
	return path
}

// toCap returns a path of as many steps as max_steps allows, after which a state would be entered, in a state of the
// monitor that is wanted. It reports false for known if that takes too long to find out.
func (g *proofGraph) toCap(m monitor, take func(*proofEdge) bool, wanted func(q int32) bool) (hit *found, known bool) {
	n, cap := len(g.nodes)*int(m.states), g.l.MaxSteps
	edges := len(g.nodes)
	for _, out := range g.edges {
		edges += len(out)
	}
	if n*cap/8 > 64<<20 || edges*int(m.states)*cap > mostWork {
		return nil, false
	}
	layers := make([][]uint64, 1, cap+1)
	words := (n + 63) / 64
	layers[0] = make([]uint64, words)
	set := func(l []uint64, i int32) { l[i/64] |= 1 << (i % 64) }
	// from calls f with all that follows a pair at a step
	from := func(step int, at int32, f func(to int32, e *proofEdge)) {
		v, q := at/m.states, at%m.states
		if g.passing(v) || g.terminal(v) {
			return
		}
		next, broken, done := m.enter(q, g.stateOf(v))
		if broken || done {
			return
		}
		var lead func(e *proofEdge, to int32)
		lead = func(e *proofEdge, to int32) {
			if !g.passing(to) || g.stateOf(to) != nil && step+1 == cap {
				f(to*m.states+next, e)
				return
			}
			for k := range g.edges[to] {
				lead(e, g.edges[to][k].to)
			}
		}
		for i := range g.edges[v] {
			if e := &g.edges[v][i]; take(e) {
				lead(e, e.to)
			}
		}
	}
	each := func(l []uint64, f func(at int32) bool) {
		for w, bits := range l {
			for b := 0; bits != 0; b, bits = b+1, bits>>1 {
				if bits&1 != 0 && !f(int32(w*64+b)) { //nolint:gosec // at most mostExplored
					return
				}
			}
		}
	}
	set(layers[0], g.start*m.states)
	for k := range cap {
		next, empty := make([]uint64, words), true
		each(layers[k], func(at int32) bool {
			from(k, at, func(to int32, _ *proofEdge) { set(next, to); empty = false })
			return true
		})
		if empty {
			return nil, true
		}
		layers = append(layers, next)
	}
	last := int32(-1)
	each(layers[cap], func(at int32) bool {
		if !g.terminal(at/m.states) && wanted(at%m.states) {
			last = at
		}
		return last < 0
	})
	if last < 0 {
		return nil, true
	}
	path, before := []visitStep{{node: last / m.states}}, last/m.states+1
	for k := cap - 1; k >= 0; k-- {
		each(layers[k], func(at int32) bool {
			var by *proofEdge
			from(k, at, func(to int32, e *proofEdge) {
				if to == last && by == nil {
					by = e
				}
			})
			if by == nil {
				return true
			}
			path, last = append(path, visitStep{at / m.states, by.word, by.kind, g.nodes[by.to].state + 1}), at
			return false
		})
	}
	slices.Reverse(path)
	return &found{path: path, end: fsm.EndMaxSteps, before: before}, true
}

// nothing is a monitor that looks for nothing.
var nothing = monitor{states: 1, enter: func(q int32, _ *fsm.State) (int32, bool, bool) { return q, false, false }}

// reach finds the ends, the states that only a failure leads to, and those that no run comes to.
func (r *Proof) reach() {
	g := r.graph
	all, _ := g.explore(nothing, func(*proofEdge) bool { return true })
	well, _ := g.explore(nothing, func(e *proofEdge) bool { return e.kind == byVerdict })
	first, good := make([]int32, len(g.states)), make([]bool, len(g.states))
	for i := range first {
		first[i] = -1
	}
	entered := func(x *exploration, at int32) bool {
		return (int(x.steps[at]) < r.Loop.MaxSteps || g.terminal(at)) && (r.enters == nil || r.enters[g.nodes[at]])
	}
	for _, n := range all.order {
		if s := g.nodes[n].state; s >= 0 && first[s] < 0 && entered(all, n) {
			first[s] = n
		}
	}
	for _, n := range well.order {
		if s := g.nodes[n].state; s >= 0 && r.exact == nil && entered(well, n) {
			good[s] = true
		}
	}
	passes := r.Loop.Maintain && r.Loop.MaxIterations > 0 && (r.enters == nil || r.passHandled)
	if r.exact != nil {
		for i := range good {
			_, good[i] = r.plainly[int32(i)] //nolint:gosec // a file has no more states
		}
	}
	for i, st := range g.states {
		handler := r.capped && !r.unflushed && st.Name == r.Loop.OnMaxSteps ||
			passes && st.Name == r.Loop.OnMaxIterations
		path := func() []visitStep { // most paths are not shown, and they may be long
			if r.entered != nil {
				return r.entered.path(int32(i)) //nolint:gosec // a file has no more states
			}
			return all.pathTo(first[i])
		}
		reached := first[i] >= 0
		if r.entered != nil {
			reached = r.entered.has(int32(i)) //nolint:gosec // a file has no more states
		}
		switch {
		case !reached && handler:
			r.Failing = append(r.Failing,
				ProofPath{End: fsm.EndMaxSteps, States: []string{st.Name}, Steps: r.Loop.MaxSteps + 1})
		case !reached:
			r.Never = append(r.Never, st.Name)
		case st.Terminal && !r.Loop.Maintain:
			r.Ends = append(r.Ends, g.pathOf(path(), fsm.EndTerminal, st.Failure))
			fallthrough
		default:
			if !good[i] {
				r.Failing = append(r.Failing, g.pathOf(path(), "", st.Failure))
			}
		}
	}
	r.otherEnds(all)
}

// pathOf returns a path with the names of its states.
func (g *proofGraph) pathOf(path []visitStep, end string, failed bool) ProofPath {
	p := ProofPath{End: end, Failed: failed}
	for _, s := range path {
		st := g.stateOf(s.node)
		p.States = append(p.States, st.Name)
		if s.word != "" {
			p.Words = append(p.Words, s.word)
		}
		if !st.Terminal || g.l.Maintain {
			p.Steps++
		}
	}
	return p
}

// otherEnds finds the ends that no terminal state is: verdicts that lead nowhere, and limits.
func (r *Proof) otherEnds(all *exploration) {
	g, l := r.graph, r.Loop
	type end struct {
		state int32
		word  string
	}
	seen := map[end]bool{}
	for _, n := range all.order {
		if int(all.steps[n]) >= l.MaxSteps {
			continue
		}
		for _, e := range g.ends[n] {
			if at := (end{g.nodes[n].state, e.word}); !seen[at] {
				seen[at] = true
				path := all.pathTo(n)
				path[len(path)-1].word = e.word
				r.Ends = append(r.Ends, g.pathOf(path, e.end, true))
			}
		}
	}
	limit := func(is bool, end string, steps int) {
		if is {
			r.Ends = append(r.Ends, ProofPath{End: end, Steps: steps, Failed: true})
		}
	}
	limit(r.capped && !r.uncapped, fsm.EndMaxSteps, l.MaxSteps)
	if r.cycled != nil {
		r.Ends = append(r.Ends, *r.cycled)
	}
	limit(l.Maintain && l.MaxIterations > 0 && (r.enters == nil || r.passed), fsm.EndMaxIterations, 0)
	limit(l.Stall != nil && !g.stalls && r.Cycles > 0, fsm.EndStall, 0)
	if r.exceeded != nil {
		r.Ends = append(r.Ends, *r.exceeded)
	}
	limit(r.mayExceed, fsm.EndBudget, 0)
	r.ceilings(all)
	limit(l.Timeout > 0, fsm.EndTimeout, 0)
}

// ceilings finds the states whose cost_ceiling may end a run.
func (r *Proof) ceilings(all *exploration) {
	seen := map[int32]bool{}
	for _, n := range all.order {
		s := r.graph.nodes[n].state
		if s < 0 || seen[s] || int(all.steps[n]) >= r.Loop.MaxSteps {
			continue
		}
		seen[s] = true
		if c := r.graph.states[s].CostCeiling; c != nil && c.Most != nil && s < int32(len(r.use)) && r.use[s].prompts > 0 { //nolint:gosec // a file has no more states
			r.Ends = append(r.Ends, r.graph.pathOf(all.pathTo(n), fsm.EndCostCeiling, true))
		}
	}
}
