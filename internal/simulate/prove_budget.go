package simulate

import (
	"slices"
	"strings"

	"loops/fsm"
)

// The counts of a [budgetSearch]: whether on_budget of the loop was taken, steps, prompts, and the prompts of
// each state with a budget of its own.
const (
	countRouted = iota
	countSteps
	countPrompts
	countOwn
)

// A budgetSearch finds where a run can reach a budget. Steps and prompts are counted up to their limits. One
// prompt may use all of cost_usd and tokens, and one visit all of wall, so that for these it counts whether
// there was one.
type budgetSearch struct {
	g      *proofGraph
	use    []load
	strict bool    // each prompt is counted
	size   []int32 // how many values each count has; the last one stands for all above it
	own    []int   // of each state, the count of its own prompts; 0 = it has none
	width  int32   // values of all counts together

	places []position         // all that was reached, if sparse
	index  map[position]int32 // of places
	parent []int32            // by visit and counts; -1 = not reached, itself = the start
	depth  []int32            // the least that were entered before
	limit  []bool             // on_budget leads there
	seen   [2][]int32         // one more than the last even, or odd, number of entered states with which it was reached
	now    []int32            // reached after so many states as those before
	next   []int32            // the same after one more
	step   int32
	work   int
	sizes  [2]int // of the last even, and the last odd, layer
	kept   [2]int // of the layer that is reached, by even or odd: how much of it was in the one two before
	follow *follows

	watch   *monitor // looks for a run that breaks a property; nil = nothing does
	counted int      // the count that is the state of watch
	broken  *found   // what it found

	sparse bool        // what is reached is kept by the number of steps too, so that paths to max_steps are known
	taken  *edgeCounts // how often edges were taken; nil = max_edge_revisits is not counted
	passes int         // the count of the passes of a maintain loop; 0 = they are not counted
	plain  bool        // only verdicts that are no failures lead on
	cycled []visitStep // the shortest path on which max_edge_revisits ends a run; nil = none does
	over   bool        // max_iterations may end a run
	// the state of on_max_iterations is entered; handling: that of a limit is looked at
	overFlush, handling bool
	// there was more than could be looked at: if sparse, all further; else what was reached before with fewer steps
	cut bool

	at        map[int32]bool     // visits at which a budget can be reached
	enters    map[proofNode]bool // visits that are entered
	enteredAt []bool             // the same by node
	first     map[int32]int32    // of each state that is, the visit and counts with which it is entered first
	capped    bool               // max_steps may end a run
	flush     bool               // the state of on_max_steps is entered
	// steps of the shortest run that a budget ends in that state, or before it; 0 = it ends none
	last int
	hit  []visitStep // the shortest path on which a budget ends a run before; nil = none does
}

// mostCounted is how many pairs of a visit and counts a budgetSearch looks at.
const mostCounted = 4_000_000

// budgets finds where budgets can be reached, and takes the other edges of on_budget out of the graph. It finds
// too what max_iterations keeps from runs.
func (p *prover) budgets(r *Proof) {
	g := r.graph
	r.use, _ = p.loads(r)
	limited := g.l.Budget != nil || slices.ContainsFunc(g.states, func(st *fsm.State) bool { return st.Budget != nil })
	if len(g.nodes) == 0 || !limited && (!g.l.Maintain || g.l.MaxIterations <= 0) {
		return
	}
	s := &budgetSearch{g: g, use: r.use, strict: p.strict}
	if !s.counts() {
		if r.mayExceed = limited; limited {
			g.note("a budget may be reached wherever it is looked at: the loop has too many states for more")
		}
		return
	}
	s.search()
	g.free = map[proofNode]bool{}
	for n, v := range g.nodes {
		if !s.at[int32(n)] { //nolint:gosec // at most mostNodes
			g.free[v] = true
		}
	}
	r.within(s)
	old := *g
	s.g = &old
	g.build()
	r.entered.renumber(g.at)
	if !r.entered.current(r.exceeding) {
		r.exceeding = nil
	}
}

// within takes what a search found.
func (r *Proof) within(s *budgetSearch) {
	r.enters, r.uncapped, r.unflushed, r.passed, r.passHandled = s.enters, !s.capped, !s.flush, s.over, s.overFlush
	r.entered, r.exceeded = &entries{s: s}, nil
	switch {
	case s.hit != nil:
		path := r.graph.pathOf(s.hit, fsm.EndBudget, true)
		r.exceeded, r.exceeding = &path, s.hit
	case s.last > 0:
		r.exceeded = &ProofPath{End: fsm.EndBudget, Steps: s.last, Failed: true}
	}
}

// counts decides what is counted. It reports false if that is too much.
func (s *budgetSearch) counts() bool {
	b := s.g.l.Budget
	if b == nil {
		b = &fsm.Budget{}
	}
	values := func(limit int64, other bool) int64 {
		switch {
		case limit > 0:
			return limit + 1
		case other:
			return 2
		}
		return 1
	}
	limits := s.g.l.Budget != nil || slices.ContainsFunc(s.g.states, func(st *fsm.State) bool {
		return st.Budget != nil
	})
	sizes := []int64{
		map[bool]int64{true: 2, false: 1}[limits], values(int64(b.Steps), b.Wall > 0),
		values(int64(b.Prompts), b.CostUSD > 0 || b.Tokens > 0),
	}
	s.own = make([]int, len(s.g.states))
	for i, st := range s.g.states {
		if st.Budget != nil {
			s.own[i] = len(sizes)
			sizes = append(sizes, values(int64(st.Budget.Prompts), true))
		}
	}
	if s.g.l.Maintain && s.g.l.MaxIterations > 0 {
		s.passes = len(sizes)
		sizes = append(sizes, int64(s.g.l.MaxIterations)+1)
	}
	if s.watch != nil {
		s.counted = len(sizes)
		sizes = append(sizes, int64(s.watch.states))
	}
	width := int64(1)
	for _, n := range sizes {
		if width *= n; width*int64(len(s.g.nodes)) > mostCounted {
			return false
		}
		s.size = append(s.size, int32(n)) //nolint:gosec // at most mostCounted
	}
	s.width = int32(width) //nolint:gosec // at most mostCounted
	return true
}

// get returns one of the counts.
func (s *budgetSearch) get(q int32, count int) int32 {
	for _, n := range s.size[:count] {
		q /= n
	}
	return q % s.size[count]
}

// add returns the counts with so much more in one of them.
func (s *budgetSearch) add(q int32, count int, more int64) int32 {
	stride := int32(1)
	for _, n := range s.size[:count] {
		stride *= n
	}
	old := q / stride % s.size[count]
	now := int32(min(int64(old)+more, int64(s.size[count])-1)) //nolint:gosec // less than size
	return q + (now-old)*stride
}

// search walks through all that a run can come to within max_steps.
func (s *budgetSearch) search() {
	n := 0
	if !s.sparse {
		n = len(s.g.nodes) * int(s.width)
	} else {
		s.index = map[position]int32{}
	}
	s.parent, s.depth, s.limit, s.at = make([]int32, n), make([]int32, n), make([]bool, n), map[int32]bool{}
	s.enters, s.first = map[proofNode]bool{}, map[int32]int32{}
	for i := range s.parent {
		s.parent[i] = -1
	}
	s.enteredAt, s.follow = make([]bool, len(s.g.nodes)), newFollows(n)
	s.seen = [2][]int32{make([]int32, n), make([]int32, n)}
	s.reach(s.g.start, 0, -1, 0, nil, false)
	for ; len(s.now) > 0 && s.broken == nil; s.step++ {
		for k := 0; k < len(s.now) && s.broken == nil && !(s.cut && s.sparse); k++ {
			if at := s.now[k]; int(s.step) >= s.g.l.MaxSteps || !s.again(at) {
				s.follow.begin(at)
				s.visit(at)
				s.follow.end(at)
			}
		}
		if s.cut = s.cut || s.work > mostWork; s.cut && s.sparse {
			break
		}
		s.skip()
		s.now, s.next = s.next, s.now[:0]
	}
	if s.cut { // what comes after so many steps is not known
		s.capped, s.flush = true, true
	}
}

// reach notes what was reached from another visit by an edge; nil = a budget leads there. counted:
// max_edge_revisits counts that. A state that is known only in a run is left at once.
func (s *budgetSearch) reach(n, q, from, depth int32, by *proofEdge, counted bool) {
	any := s.g.nodes[n].state < 0
	taken := int32(0)
	if s.sparse && from >= 0 {
		if any {
			for i := range s.g.edges[n] {
				s.reach(s.g.edges[n][i].to, q, from, depth, by, counted)
			}
			return
		}
		if taken = s.places[from].taken; counted && s.taken != nil {
			more, ok := s.taken.more(taken, s.g.nodes[s.node(from)].state, s.g.nodes[n].state)
			if taken = more; !ok {
				s.revisited(from, by)
				return
			}
		}
	}
	at := s.place(n, q, taken, depth)
	s.follow.add(from, at, depth > s.step)
	if from < 0 {
		from = at
	}
	if !s.isNew(at, depth, any) {
		return
	}
	if s.parent[at] < 0 || depth < s.depth[at] {
		s.parent[at], s.depth[at], s.limit[at] = from, depth, by == nil
	}
	switch {
	case any && s.follow.known(at):
		s.followAny(at, depth)
	case any:
		s.follow.begin(at)
		for i := range s.g.edges[n] {
			s.reach(s.g.edges[n][i].to, q, at, depth, &s.g.edges[n][i], counted)
		}
		s.follow.end(at)
	case depth == s.step:
		s.now = append(s.now, at)
	default:
		s.next = append(s.next, at)
	}
}

// visit follows a visit to a state: what limits it before it is entered, what limits its prompts, and its edges.
func (s *budgetSearch) visit(at int32) {
	n, q, depth := s.node(at), s.countsOf(at), s.step
	st := s.g.stateOf(n)
	if s.g.terminal(n) {
		s.entered(at)
		s.watched(at, q, st)
		return
	}
	if int(depth) >= s.g.l.MaxSteps {
		s.handler(at, s.g.l.OnMaxSteps, fsm.EndMaxSteps)
		return
	}
	if s.passes > 0 && int(s.get(q, s.passes)) >= s.g.l.MaxIterations {
		s.handler(at, s.g.l.OnMaxIterations, fsm.EndMaxIterations)
		return
	}
	i := s.g.nodes[n].state
	if !st.Terminal && s.stopped(at, st, i) { // a maintain loop begins again in a terminal state, whatever is left
		return
	}
	if s.g.passing(n) { // max_retries is looked at after the budgets
		for k := range s.g.edges[n] {
			if e := &s.g.edges[n][k]; s.leaves(e) {
				s.reach(e.to, q, at, depth, e, false)
			}
		}
		return
	}
	s.entered(at)
	q, goes := s.watched(at, q, st)
	if !goes {
		return
	}
	if q = s.add(q, countSteps, 1); s.passes > 0 && st.Terminal {
		q = s.add(q, s.passes, 1)
	}
	most := min(s.use[i].prompts, mostCounted)
	for sent := int64(0); sent < most; sent++ {
		now := s.sent(q, i, sent)
		always, maybe := s.refuses(now, st, i)
		if always || maybe {
			s.exceeds(at, now, st, true, false)
		}
		if always {
			most = sent
		}
		if now == s.sent(q, i, sent+1) { // the same again
			break
		}
	}
	least := s.least(st, i)
	s.leadsNowhere(at, most >= least)
	for sent := int64(0); sent <= most; sent++ {
		now, total := s.sent(q, i, sent), s.use[i].prompts
		if now == s.sent(q, i, sent+1) && most >= min(total, mostCounted) { // so it is after all of them
			total = sent
		}
		if sent == 0 && st.Loop != "" && s.own[i] > 0 && st.Budget.Prompts == 0 {
			now = s.add(now, s.own[i], 1)
		}
		for inner := int64(0); ; inner++ {
			to := s.add(now, countSteps, inner)
			for k := range s.g.edges[n] {
				// a prompt that is refused is not counted
				if e := &s.g.edges[n][k]; s.leaves(e) &&
					(sent >= least && (sent >= total || !s.g.retries(n, e.word)) || e.fails && !s.strict) {
					s.reach(e.to, to, at, depth+1, e, !st.Terminal)
				}
			}
			if inner >= s.use[i].steps || to == s.add(to, countSteps, 1) {
				break
			}
		}
		if sent >= least && now == s.sent(q, i, sent+1) { // the same again
			break
		}
	}
}

// leaves reports whether an edge is followed that is none of a budget.
func (s *budgetSearch) leaves(e *proofEdge) bool {
	return e.word != onBudget && (!s.plain || e.kind == byVerdict)
}

// onBudget is the word of the edges along which a budget leads.
const onBudget = "on_budget"

// sent returns the counts after so many prompts of a state.
func (s *budgetSearch) sent(q, i int32, prompts int64) int32 {
	q = s.add(q, countPrompts, prompts)
	if own := s.own[i]; own > 0 {
		q = s.add(q, own, prompts)
	}
	return q
}

// least returns how many prompts a visit sends at least.
func (s *budgetSearch) least(st *fsm.State, i int32) int64 {
	if st.Await != nil || st.Each != nil || st.Branches != nil || st.Loop != "" {
		return 0
	}
	return min(1, s.use[i].prompts)
}

// stopped follows the limits of steps and wall, which are looked at before a state is entered. It reports whether the
// state is not entered.
func (s *budgetSearch) stopped(at int32, st *fsm.State, i int32) bool {
	q := s.countsOf(at)
	if b := st.Budget; b != nil && (b.Steps > 0 || b.Wall > 0) && s.get(q, s.own[i]) > 0 {
		s.exceeds(at, q, st, false, false)
	}
	b := s.g.l.Budget
	if b == nil || s.get(q, countRouted) > 0 {
		return false
	}
	used := s.get(q, countSteps)
	always := b.Steps > 0 && int(used) >= b.Steps
	if always || b.Wall > 0 && used > 0 {
		s.exceeds(at, q, st, false, true)
	}
	return always
}

// refuses reports whether a budget leaves nothing for a prompt of a state: in each run that comes there, or in some.
func (s *budgetSearch) refuses(q int32, st *fsm.State, i int32) (always, maybe bool) {
	look := func(b *fsm.Budget, prompts, steps int32) {
		if b == nil {
			return
		}
		always = always || b.Prompts > 0 && int(prompts) >= b.Prompts || b.Steps > 0 && int(steps) >= b.Steps
		maybe = maybe || (b.CostUSD > 0 || b.Tokens > 0) && prompts > 0
	}
	b := s.g.l.Budget
	look(b, s.get(q, countPrompts), s.get(q, countSteps))
	maybe = maybe || b != nil && b.Wall > 0
	if own := st.Budget; own != nil {
		used := s.get(q, s.own[i])
		look(&fsm.Budget{Prompts: own.Prompts, CostUSD: own.CostUSD, Tokens: own.Tokens}, used, 0)
		maybe = maybe || (own.Wall > 0 || own.Steps > 0) && used > 0
	}
	return always, maybe
}

// exceeds follows a limit that is reached at a visit: by on_budget, or to the end of the run. entered: the state was
// entered. loop: it is a limit of the loop.
func (s *budgetSearch) exceeds(at, q int32, st *fsm.State, entered, loop bool) {
	if s.plain {
		return
	}
	n := s.node(at)
	s.at[n] = true
	slot := st.OnBudget
	if slot == "" && s.get(q, countRouted) == 0 {
		slot = s.g.l.OnBudget
	}
	switch ends := slot == "" || slot == st.Name && !entered && !loop; {
	case s.handling: // st is the state of on_max_steps, which leads nowhere
		s.lastAfter(ends, 0)
		return
	case ends:
		s.ends(at, entered)
		return
	}
	if st.OnBudget == "" || loop && !entered {
		q = s.add(q, countRouted, 1)
	}
	depth := s.step
	if entered {
		depth++
	}
	if s.g.passing(n) && s.leads(slot, n, n, false) { // it is spent still
		s.reach(n, q, at, depth, nil, false)
	}
	for _, e := range s.g.edges[n] {
		if s.leads(slot, n, e.to, entered) {
			s.reach(e.to, q, at, depth, nil, entered)
		}
	}
}

// leads reports whether a slot of the state of a visit leads to another visit. entered: the first one was entered.
func (s *budgetSearch) leads(slot string, from, to int32, entered bool) bool {
	v, w := s.g.nodes[from], s.g.nodes[to]
	switch {
	case strings.Contains(slot, "${"):
		return w.state < 0
	case w.state < 0 || slot != fsm.Current && s.g.states[w.state].Name != slot:
		return false
	case w.state != v.state:
		return slot != fsm.Current
	case entered:
		return w == s.g.stay(v, 0) || s.g.coarse
	}
	return w == s.g.unentered(v)
}

// handler follows the state that is entered once when max_steps or max_iterations is reached.
func (s *budgetSearch) handler(at int32, name, end string) {
	if s.plain {
		return
	}
	caps, flushes := &s.capped, &s.flush
	if end == fsm.EndMaxIterations {
		caps, flushes = &s.over, &s.overFlush
	}
	i, known := s.g.index[name]
	if !known {
		*caps = true
		s.endsWatched(at, false, end)
		return
	}
	s.handling = true
	defer func() { s.handling = false }()
	st, q := s.g.states[i], s.countsOf(at)
	routes := st.OnBudget != "" || s.g.l.OnBudget != "" && s.get(q, countRouted) == 0
	if s.stopped(at, st, i) {
		if *caps = *caps || routes; routes {
			s.endsWatched(at, false, end)
		}
		return
	}
	*caps, *flushes = true, true
	always, maybe := s.refuses(s.add(q, countSteps, 1), st, i)
	s.handled(at, st, i, end, s.use[i].prompts > 0 && always && !routes)
	if s.use[i].prompts > 0 {
		s.lastAfter((always || maybe) && !routes, 1)
	}
}

// lastAfter notes that a budget may end a run so many states after a limit.
func (s *budgetSearch) lastAfter(ends bool, more int) {
	if n := int(s.step) + more; ends && (s.last == 0 || n < s.last) {
		s.last = n
	}
}

// ends notes the shortest path that ends the run. The last state of it is only part of it if it was entered.
func (s *budgetSearch) ends(at int32, entered bool) {
	if s.hit == nil || s.length(at, entered) < len(s.hit) {
		s.hit = s.pathTo(at, entered)
	}
}

// length returns how many states pathTo has.
func (s *budgetSearch) length(at int32, entered bool) int {
	n := int(s.depth[at])
	if entered {
		n++
	}
	return n
}

// entered notes that a state is entered.
func (s *budgetSearch) entered(at int32) {
	n := s.node(at)
	if s.enteredAt[n] {
		return
	}
	s.enteredAt[n] = true
	v := s.g.nodes[n]
	s.enters[v] = true
	if _, known := s.first[v.state]; !known {
		s.first[v.state] = at
	}
}

// pathTo returns the states that are entered up to one that was reached, with that state if it was entered.
func (s *budgetSearch) pathTo(at int32, entered bool) []visitStep {
	path := []visitStep{}
	if entered {
		path = append(path, visitStep{node: s.node(at)})
	}
	for s.parent[at] != at {
		from := s.parent[at]
		if v := s.node(from); !s.g.passing(v) && (!s.limit[at] || s.depth[from] < s.depth[at]) {
			step := visitStep{node: v, word: onBudget, kind: byLimit, into: s.g.nodes[s.node(at)].state + 1}
			for _, e := range s.g.edges[v] {
				if !s.limit[at] && e.word != onBudget &&
					(e.to == s.node(at) || step.word == onBudget && s.g.nodes[e.to].state < 0) {
					step.word, step.kind = e.word, e.kind
				}
			}
			path = append(path, step)
		}
		at = from
	}
	slices.Reverse(path)
	return path
}
