package simulate

import (
	"encoding/binary"
	"slices"

	"loops/fsm"
)

// A position is what a [budgetSearch] reached: a visit, its counts, how often edges were taken before, as a
// number of edgeCounts, and how many states were entered before.
type position struct{ n, q, taken, depth int32 }

// mostPositions is how many positions are looked at where max_edge_revisits is counted, and mostTaken how many
// bytes all of their counts have.
const (
	mostPositions = 200_000
	mostTaken     = 64 << 20
)

// place returns the number of what was reached.
func (s *budgetSearch) place(n, q, taken, depth int32) int32 {
	if !s.sparse {
		return n*s.width + q
	}
	p := position{n, q, taken, depth}
	at, known := s.index[p]
	if !known {
		at = int32(len(s.places)) //nolint:gosec // at most mostPositions
		s.index[p], s.places = at, append(s.places, p)
		s.parent, s.depth, s.limit = append(s.parent, -1), append(s.depth, 0), append(s.limit, false)
		s.seen[0], s.seen[1] = append(s.seen[0], 0), append(s.seen[1], 0)
		s.cut = s.cut || len(s.places) > mostPositions || s.taken != nil && s.taken.bytes > mostTaken
	}
	return at
}

// node returns the visit of what was reached.
func (s *budgetSearch) node(at int32) int32 {
	if !s.sparse {
		return at / s.width
	}
	return s.places[at].n
}

// countsOf returns the counts of what was reached.
func (s *budgetSearch) countsOf(at int32) int32 {
	if !s.sparse {
		return at % s.width
	}
	return s.places[at].q
}

// revisited notes that max_edge_revisits ends a run in a state, by an edge.
func (s *budgetSearch) revisited(at int32, by *proofEdge) {
	word, kind := onBudget, byLimit
	if by != nil {
		word, kind = by.word, by.kind
	}
	with := func(path []visitStep) []visitStep {
		path[len(path)-1].word, path[len(path)-1].kind = word, kind
		return path
	}
	if s.cycled == nil {
		s.cycled = with(s.pathTo(at, true))
	}
	if before := s.broken; before == nil {
		if s.endsWatched(at, true, fsm.EndCycle); s.broken != nil {
			with(s.broken.path)
		}
	}
}

// An edgePair is an edge between two states.
type edgePair struct{ from, to int32 }

// edgeCounts numbers how often the edges of a run were taken. Number 0 is a run that has taken none.
type edgeCounts struct {
	most   int // as max_edge_revisits says
	of     []string
	known  map[string]int32
	after  map[[3]int32]int32 // of a number, and an edge, the number that follows; -1 = it was taken too often
	cyclic map[edgePair]bool  // those that can be taken more than once
	bytes  int
}

func newEdgeCounts(g *proofGraph) *edgeCounts {
	c := &edgeCounts{
		most: g.l.MaxEdgeRevisits, of: []string{""}, known: map[string]int32{"": 0},
		after: map[[3]int32]int32{}, cyclic: map[edgePair]bool{},
	}
	of, _ := g.components()
	var add func(n int32, to int32)
	add = func(n, to int32) {
		if of[n] != of[to] {
			return
		}
		if g.nodes[to].state >= 0 {
			c.cyclic[edgePair{g.nodes[n].state, g.nodes[to].state}] = true
			return
		}
		for _, e := range g.edges[to] {
			add(n, e.to)
		}
	}
	for n := range int32(len(g.nodes)) { //nolint:gosec // at most mostNodes
		if g.nodes[n].state < 0 {
			continue
		}
		for _, e := range g.edges[n] {
			add(n, e.to)
		}
	}
	return c
}

// more returns the number of a run that takes an edge once more. It reports false if that is too often.
func (c *edgeCounts) more(of, from, to int32) (int32, bool) {
	if !c.cyclic[edgePair{from, to}] {
		return of, c.most > 0
	}
	key := [3]int32{of, from, to}
	next, known := c.after[key]
	if !known {
		next = c.add(c.of[of], from, to)
		c.after[key] = next
	}
	return next, next >= 0
}

// A text of counts has, for each edge that was taken, in their order: both states, and how often.
func (c *edgeCounts) add(text string, from, to int32) int32 {
	const size = 12
	edge := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(from)), uint32(to)) //nolint:gosec // numbers of states
	at := 0
	for at < len(text) && text[at:at+8] < string(edge) {
		at += size
	}
	times, rest := uint32(1), text[at:]
	if rest != "" && rest[:8] == string(edge) {
		times, rest = binary.BigEndian.Uint32([]byte(rest[8:size]))+1, rest[size:]
	}
	if int64(times) > int64(c.most) {
		return -1
	}
	text = string(slices.Concat([]byte(text[:at]), binary.BigEndian.AppendUint32(edge, times), []byte(rest)))
	n, known := c.known[text]
	if !known {
		n = int32(len(c.of)) //nolint:gosec // at most mostTaken
		c.known[text], c.of = n, append(c.of, text)
		c.bytes += len(text)
	}
	return n
}

// mayRevisit is the note where it is not known whether max_edge_revisits lets a run do something.
const mayRevisit = "max_edge_revisits may keep runs from what a long path leads to: what is said of it is " +
	"an upper bound"

// search walks through all that a run can come to within its budgets, and within max_edge_revisits if revisits.
// It reports false if that is too much.
func (r *Proof) search(m *monitor, sparse, revisits bool) (*budgetSearch, bool) {
	s := &budgetSearch{g: r.graph, use: r.use, strict: r.strict, watch: m, sparse: sparse}
	if !s.counts() {
		return nil, false
	}
	if revisits {
		s.taken = newEdgeCounts(r.graph)
	}
	s.search()
	return s, s.broken != nil || !s.cut
}

// revisited reports whether a path takes an edge more often than max_edge_revisits allows. before is the visit
// before which a limit ends it, and one more; 0 = none does, and its last state was entered.
func (g *proofGraph) revisited(path []visitStep, before int32) bool {
	if len(path) <= g.l.MaxEdgeRevisits {
		return false
	}
	entered := len(path)
	if before > 0 && path[entered-1].word == "" { // it is the state that the limit leads to
		entered--
	}
	taken := map[edgePair]int{}
	over := func(from, to int32) bool {
		edge := edgePair{from, to}
		taken[edge]++
		return taken[edge] > g.l.MaxEdgeRevisits
	}
	for i, at := range path {
		st, from := g.stateOf(at.node), g.nodes[at.node].state
		if st == nil || st.Terminal {
			continue
		}
		next := int32(-1)
		switch {
		case at.into > 0:
			next = at.into - 1
		case i == entered-1 && before > 0:
			next = g.nodes[before-1].state
		case i < entered-1:
			next = g.nodes[path[i+1].node].state
		}
		if next >= 0 && over(from, next) {
			return true
		}
	}
	return false
}

// revisits finds what max_edge_revisits keeps from runs. What was found without it stays where no path needs an
// edge too often.
func (r *Proof) revisits() {
	l := r.Loop
	if l.MaxEdgeRevisits >= l.MaxSteps || r.Cycles == 0 {
		return
	}
	if r.capped && !r.uncapped && r.counted(r.use).entered < int64(l.MaxSteps) {
		r.uncapped, r.unflushed = true, true
	}
	if !r.doubtful() {
		return
	}
	s, sure := r.search(nil, true, true)
	if !sure {
		if r.graph.note(mayRevisit); r.cycled == nil {
			r.cycled = &ProofPath{End: fsm.EndCycle, Steps: l.MaxEdgeRevisits + 1, Failed: true}
		}
		return
	}
	r.exact = s
	r.within(s)
	if r.cycled = nil; s.cycled != nil {
		path := r.graph.pathOf(s.cycled, fsm.EndCycle, true)
		r.cycled = &path
	}
	plain := &budgetSearch{
		g: r.graph, use: r.use, strict: r.strict, plain: true, sparse: true,
		taken: newEdgeCounts(r.graph),
	}
	plain.counts()
	plain.search()
	r.plainly = plain.first
}

// doubtful reports whether what was found of the loop may need an edge too often. It notes the shortest path on which
// max_edge_revisits ends a run.
func (r *Proof) doubtful() bool {
	g := r.graph
	if r.entered.revisited(g) {
		return true
	}
	if r.exceeding != nil && g.revisited(r.exceeding, 0) {
		return true
	}
	takes := []func(*proofEdge) bool{func(*proofEdge) bool { return true }, func(e *proofEdge) bool {
		return e.kind == byVerdict
	}}
	if g.mostVisits() <= r.Loop.MaxEdgeRevisits { // a shortest path has no visit twice
		takes = nil
	}
	for _, take := range takes {
		x, _ := g.explore(nothing, take)
		for _, n := range x.order {
			if int(x.steps[n]) > r.Loop.MaxEdgeRevisits && g.revisited(x.pathTo(n), 0) {
				return true
			}
		}
	}
	if r.enters != nil {
		return true
	}
	ends := nothing
	ends.ends = true
	hit, known := r.round(ends, func(*proofEdge) bool { return true })
	if hit != nil {
		path := g.pathOf(hit.path, fsm.EndCycle, true)
		r.cycled = &path
	}
	return !known || r.capped && !r.uncapped && !g.lasts()
}

// mostVisits returns how many visits a state has at most.
func (g *proofGraph) mostVisits() int {
	of := make([]int, len(g.states))
	for _, v := range g.nodes {
		if v.state >= 0 {
			of[v.state]++
		}
	}
	return slices.Max(append(of, 0))
}

// lasts reports whether a run was found that max_steps ends: it takes the edges first that it has taken least.
func (g *proofGraph) lasts() bool {
	of, _ := g.components()
	taken := map[edgePair]int{}
	at := g.start
	for step := 0; step < g.l.MaxSteps; step++ {
		var best *proofEdge
		least := func(e *proofEdge) int {
			return 2*taken[edgePair{g.nodes[at].state, g.nodes[e.to].state}] +
				map[bool]int{true: 0, false: 1}[of[e.to] == of[at]]
		}
		for i := range g.edges[at] {
			if e := &g.edges[at][i]; !g.passing(e.to) && !g.terminal(e.to) && (best == nil || least(e) < least(best)) {
				best = e
			}
		}
		if best == nil {
			return false
		}
		edge := edgePair{g.nodes[at].state, g.nodes[best.to].state}
		if taken[edge]++; taken[edge] > g.l.MaxEdgeRevisits {
			return false
		}
		at = best.to
	}
	return true
}
