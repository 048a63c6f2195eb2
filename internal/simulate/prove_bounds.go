package simulate

import (
	"slices"

	"loops/fsm"
	"loops/internal/humanize"
)

// A load is what one visit to a state uses at most.
type load struct{ steps, prompts int64 }

// loads returns what a visit to each state uses, with its sub-loops, and whether that is exact.
func (p *prover) loads(r *Proof) (of []load, exact bool) {
	exact, of = true, make([]load, len(r.graph.states))
	for i, st := range r.graph.states {
		var sure bool
		of[i], sure = p.load(r, st)
		exact = exact && sure
	}
	return of, exact
}

func (p *prover) load(r *Proof, st *fsm.State) (use load, exact bool) {
	tries, exact := int64(triesOf(st)), true
	asked := int64(0)
	if fsm.Prompts(st) && st.Await == nil {
		asked = int64(max(1, len(r.Loop.PromptHosts(st))))
		exact = asked == 1
	}
	if AsksJudge(st) && r.Loop.LLM.Enabled {
		n := judgeQuestions(st)
		asked, exact = asked+n, exact && n == 1
	}
	use.prompts = tries * asked
	switch {
	case st.Loop != "":
		return p.subloop(r, st)
	case st.Branches != nil:
		exact = false
		for _, b := range st.Branches.List {
			own, _ := p.load(r, b.State)
			use.steps, use.prompts = plus(use.steps, own.steps), plus(use.prompts, own.prompts)
		}
	case st.Each != nil:
		return p.items(r, st, load{prompts: asked})
	}
	return use, exact
}

// judgeQuestions returns how many questions a judge is asked for one verdict at most.
func judgeQuestions(st *fsm.State) int64 {
	x := st.Evaluate
	switch {
	case x == nil:
		return 1
	case x.Type == "comparator":
		return int64(max(1, x.MinPairs))
	case x.Type == "contract":
		return int64(max(1, len(x.Pairs)))
	}
	return int64(max(1, x.Votes))
}

// mostListed is how many items a list can have.
const mostListed = 1_000_000

// items returns what a list of items uses, of which one uses so much.
func (p *prover) items(r *Proof, st *fsm.State, one load) (load, bool) {
	n := int64(len(st.Each.List))
	if st.Each.List == nil {
		n = mostListed
		if one.prompts > 0 {
			r.graph.note("the number of items of " + st.Name + " is known only in a run: " +
				humanize.Count(mostListed, "item") + " is the most that a list can have")
		}
	}
	return load{prompts: times(n*int64(1+st.Each.Retries), one.prompts)}, false
}

// subloop returns what a visit uses that runs a loop.
func (p *prover) subloop(r *Proof, st *fsm.State) (load, bool) {
	inner, err := p.inside(r.Loop, st)
	runs := int64(1)
	if st.Each != nil {
		runs = mostListed
		if st.Each.List != nil {
			runs = int64(len(st.Each.List))
		} else {
			r.graph.note("the number of items of " + st.Name + " is known only in a run: " +
				humanize.Count(mostListed, "item") + " is the most that a list can have")
		}
		runs *= int64(1 + st.Each.Retries)
	}
	if err != nil {
		r.graph.note("of the sub-loop of " + st.Name + " nothing is known: " + err.Error())
		return load{Unbounded, Unbounded}, false
	}
	return load{times(runs, inner.AllSteps.Most), times(runs, inner.Prompts.Most)}, inner.AllSteps.Exact &&
		inner.Prompts.Exact && st.Each == nil
}

func plus(a, b int64) int64 { return min(Unbounded, a+b) }

func times(a, b int64) int64 {
	if a != 0 && b > Unbounded/a {
		return Unbounded
	}
	return a * b
}

// mostWork is how many edges are followed to find the most that a run can use, in all its steps.
const mostWork = 30_000_000

// bounds finds how much a run can use at most.
func (p *prover) bounds(r *Proof) {
	g, l := r.graph, r.Loop
	if len(g.nodes) == 0 {
		return
	}
	use, sure := p.loads(r)
	exact := sure && !g.coarse && len(g.notes) == 0 && l.Budget == nil && l.MaxEdgeRevisits >= l.MaxSteps &&
		l.Stall == nil && l.MaxIterations == 0 && !slices.ContainsFunc(g.states, func(st *fsm.State) bool {
		return throttleOf(l, st) != nil
	})
	most, enough := r.walk(use)
	exact = exact && enough
	if l.MaxIterations > 0 && l.OnMaxIterations != "" {
		r.handle(&most, l.OnMaxIterations, use)
	}
	r.Steps = Bound{most.entered, "", exact}
	if r.capped {
		r.Steps.By = "max_steps"
	}
	r.AllSteps, r.Prompts = Bound{most.steps, r.Steps.By, exact}, Bound{most.prompts, r.Steps.By, exact}
	if r.capped && (l.MaxEdgeRevisits < l.MaxSteps || l.MaxIterations > 0) {
		counted := r.counted(use)
		for _, handler := range []string{l.OnMaxSteps, l.OnMaxIterations} {
			if handler != "" {
				r.handle(&counted, handler, use)
			}
		}
		r.lower(counted, map[bool]string{true: "max_iterations", false: "max_edge_revisits"}[l.MaxIterations > 0])
	}
	if b := l.Budget; b != nil {
		if b.Steps > 0 && l.OnBudget == "" && !l.Maintain && !slices.ContainsFunc(g.states, func(st *fsm.State) bool {
			return st.OnBudget != ""
		}) {
			r.Steps.lower(int64(b.Steps), "budget.steps")
			r.AllSteps.lower(int64(b.Steps), "budget.steps")
		}
		if b.Prompts > 0 {
			r.Prompts.lower(int64(b.Prompts), "budget.prompts")
		}
		if r.Cost, r.Limited = b.CostUSD, b.CostUSD > 0; r.Limited && b.AllowUnknown {
			g.note("a prompt whose cost its agent does not say counts as nothing (allow_unknown_cost)")
		}
	}
	r.stateBudgets(use)
	if r.Prompts.Most == 0 {
		r.Prompts, r.Cost, r.Limited = Bound{Exact: true}, 0, true
	}
}

// lower takes a limit that comes before.
func (b *Bound) lower(most int64, by string) {
	if most < b.Most {
		*b = Bound{Most: most, By: by}
	}
}

// stateBudgets takes the budgets of states, each of which limits all visits to it.
func (r *Proof) stateBudgets(use []load) {
	rest, prompts, cost, limited := slices.Clone(use), int64(0), 0.0, true
	found := false
	for i, st := range r.graph.states {
		switch b := st.Budget; {
		case b != nil && b.Prompts > 0:
			rest[i].prompts, prompts, found = 0, plus(prompts, int64(b.Prompts)), true
		case b == nil && use[i].prompts > 0:
			limited = false
		}
		if b := st.Budget; use[i].prompts > 0 {
			if b == nil || b.CostUSD <= 0 || b.AllowUnknown {
				limited = false
			} else {
				cost += b.CostUSD
			}
		}
	}
	if found {
		if most, _ := r.walk(rest); plus(most.prompts, prompts) < r.Prompts.Most {
			r.Prompts = Bound{Most: plus(most.prompts, prompts), By: "budget.prompts of its states"}
		}
	}
	if limited && cost > 0 && (!r.Limited || cost < r.Cost) {
		r.Cost, r.Limited = cost, true
	}
}

// used is what one run uses.
type used struct{ entered, steps, prompts int64 }

// A flatGraph has the edges of a graph side by side, which is quicker to walk through.
type flatGraph struct {
	kind  []byte  // of each node: flatVisit and so on
	first []int32 // where the edges of each node begin in to
	to    []int32
}

const (
	flatVisit = iota
	flatEnd
	flatSpent // it only stands between two visits, and max_steps comes before it
	flatAny   // it only stands between two visits
)

func (g *proofGraph) flat() *flatGraph {
	f := &flatGraph{kind: make([]byte, len(g.nodes)), first: make([]int32, len(g.nodes)+1)}
	for n := range int32(len(g.nodes)) { //nolint:gosec // at most mostNodes
		switch {
		case g.nodes[n].state < 0:
			f.kind[n] = flatAny
		case g.passing(n):
			f.kind[n] = flatSpent
		case g.terminal(n):
			f.kind[n] = flatEnd
		}
		for _, e := range g.edges[n] {
			f.to = append(f.to, e.to)
		}
		f.first[n+1] = int32(len(f.to)) //nolint:gosec // as many as fit into memory
	}
	return f
}

// longest returns the most steps that a run can take by max_steps alone, and the most of a weight that all
// visits of a run have together; at the cap, the weight of those runs that come to it. known is false if that
// takes too long.
//
// For each number of steps, and each visit that can be the next one then, it has the most that was used before.
func (f *flatGraph) longest(start int32, cap int, weight func(n int32) int64) (steps int, most, atCap int64,
	capped, known bool,
) {
	own := make([]int64, len(f.kind))
	now, next := make([]int64, len(f.kind)), make([]int64, len(f.kind))
	for n := range own {
		own[n], now[n], next[n] = weight(int32(n)), -1, -1 //nolint:gosec // at most mostNodes
	}
	ahead, after := []int32{start}, []int32(nil)
	now[start] = 0
	work := 0
	for step := 0; len(ahead) > 0; step++ {
		for k := 0; k < len(ahead); k++ {
			n := ahead[k]
			if f.kind[n] != flatAny && (f.kind[n] != flatSpent || step == cap) {
				continue
			}
			for _, to := range f.to[f.first[n]:f.first[n+1]] {
				if now[to] < 0 {
					ahead = append(ahead, to)
				}
				now[to] = max(now[to], now[n])
			}
		}
		for _, n := range ahead {
			kind, u := f.kind[n], now[n]
			now[n] = -1
			if step == cap && (kind == flatVisit || kind == flatSpent) {
				capped, atCap = true, max(atCap, u)
				continue
			}
			if kind != flatVisit {
				continue
			}
			steps, u = step+1, plus(u, own[n])
			most = max(most, u)
			for _, to := range f.to[f.first[n]:f.first[n+1]] {
				if old := next[to]; old < 0 {
					after = append(after, to)
					next[to] = u
				} else if u > old {
					next[to] = u
				}
			}
			work += int(f.first[n+1] - f.first[n])
		}
		now, next, ahead, after = next, now, after, ahead[:0]
		if work > mostWork {
			return 0, 0, 0, false, false
		}
	}
	return steps, most, atCap, capped, true
}

// walk returns the most that a run can use by max_steps alone. It reports false if that takes too long; the
// answer is then an upper bound.
func (r *Proof) walk(use []load) (most used, exact bool) {
	g, inner := r.graph, false
	of := func(n int32) (u load) {
		if s := g.nodes[n].state; s >= 0 {
			u = use[s]
		}
		return u
	}
	f := g.flat()
	steps, prompts, last, capped, known := f.longest(g.start, r.Loop.MaxSteps, func(n int32) int64 {
		return of(n).prompts
	})
	if !known {
		return r.roughly(use), false
	}
	r.capped = capped
	most = used{int64(steps), int64(steps), prompts}
	end := used{int64(steps), int64(steps), last}
	for _, u := range use {
		inner = inner || u.steps > 0
	}
	if inner {
		_, most.steps, end.steps, _, _ = f.longest(g.start, r.Loop.MaxSteps, func(n int32) int64 {
			return plus(1, of(n).steps)
		})
	}
	exact = true
	if capped && r.Loop.OnMaxSteps != "" {
		exact = r.handle(&end, r.Loop.OnMaxSteps, use)
		most = used{max(most.entered, end.entered), max(most.steps, end.steps), max(most.prompts, end.prompts)}
	}
	return most, exact
}

// handle adds the state that is entered once when a limit is reached. It reports whether a run comes to that sum.
func (r *Proof) handle(most *used, handler string, use []load) bool {
	exact := true
	most.entered++
	most.steps = plus(most.steps, 1)
	// the state after it may act once more
	if slices.ContainsFunc(r.graph.states, func(st *fsm.State) bool { return st.Loop != "" }) {
		most.entered, most.steps, exact = most.entered+1, plus(most.steps, 1), false
		worst := int64(0)
		for i, st := range r.graph.states {
			if st.Loop == "" {
				worst = max(worst, use[i].prompts)
			}
		}
		most.prompts = plus(most.prompts, worst)
	}
	i, known := r.graph.index[handler]
	if !known {
		return false
	}
	most.steps, most.prompts = plus(most.steps, use[i].steps), plus(most.prompts, use[i].prompts)
	return exact
}

// roughly returns an upper bound of what a run uses by max_steps alone.
func (r *Proof) roughly(use []load) used {
	worst := load{}
	for _, u := range use {
		worst = load{max(worst.steps, u.steps), max(worst.prompts, u.prompts)}
	}
	n := int64(r.Loop.MaxSteps)
	r.capped = true
	most := used{n, times(n, plus(1, worst.steps)), times(n, worst.prompts)}
	if r.Loop.OnMaxSteps != "" {
		r.handle(&most, r.Loop.OnMaxSteps, use)
	}
	return most
}

// counted returns what a run uses at most by how often each edge can be taken: a state that leads back to itself is
// entered once from outside, and else only along the edges among those it leads to.
func (r *Proof) counted(use []load) used {
	g, l := r.graph, r.Loop
	of, _ := g.components()
	type pair struct{ from, to int32 }
	into := make([]int64, len(g.states))
	seen := map[pair]int64{}
	entered := map[pair]bool{} // states with a group that they are in, each of which is entered once from outside
	for n := range g.nodes {
		if at := (pair{g.nodes[n].state, of[n]}); at.from >= 0 && !entered[at] {
			entered[at] = true
			into[at.from]++
		}
	}
	for n := range g.nodes {
		for _, e := range g.edges[n] {
			if of[n] != of[e.to] || g.nodes[e.to].state < 0 {
				continue
			}
			p, often := pair{g.nodes[n].state, g.nodes[e.to].state}, int64(l.MaxEdgeRevisits)
			switch {
			case p.from < 0, e.often == asOften, e.often == asPasses && l.MaxIterations == 0:
				often = Unbounded
			case e.often == asPasses:
				often = int64(l.MaxIterations)
			case e.often == asRetries: // beside the edge of the state itself
				often *= 2
			}
			seen[p] = max(seen[p], often)
		}
	}
	for p, often := range seen {
		into[p.to] = plus(into[p.to], often)
	}
	most := used{}
	for i, n := range into {
		if g.states[i].Terminal && !l.Maintain {
			continue
		}
		most.entered = plus(most.entered, n)
		most.steps = plus(most.steps, times(n, plus(1, use[i].steps)))
		most.prompts = plus(most.prompts, times(n, use[i].prompts))
	}
	return most
}

// lower takes what another limit than max_steps allows, where that is less.
func (r *Proof) lower(u used, by string) {
	r.Steps.lower(u.entered, by)
	r.AllSteps.lower(u.steps, by)
	r.Prompts.lower(u.prompts, by)
}
