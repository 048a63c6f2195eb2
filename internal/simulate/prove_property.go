package simulate

import (
	"slices"

	"loops/fsm"
)

// A Checked is a property of a loop, and whether it holds.
type Checked struct {
	Property fsm.Property
	Holds    bool
	Unknown  bool        // that could not be found out: the loop is too large
	Path     ProofPath   // a run that breaks it
	replies  []visitStep // what the states of Path come to
	end      string
}

// monitorOf returns what watches for a run that breaks a property.
func monitorOf(p fsm.Property) monitor {
	switch p.Kind {
	case fsm.PropertyAlways:
		return monitor{states: 1, ends: true, enter: func(q int32, st *fsm.State) (int32, bool, bool) {
			return q, false, st.Name == p.State
		}}
	case fsm.PropertyAtMost:
		return monitor{states: int32(p.Times) + 1, enter: func(q int32, st *fsm.State) (int32, bool, bool) { //nolint:gosec // at most 1,000
			if st.Name != p.State {
				return q, false, false
			}
			return q + 1, int(q) == p.Times, false
		}}
	}
	return monitor{states: 1, enter: func(q int32, st *fsm.State) (int32, bool, bool) {
		return q, st.Name == p.State, p.Without != "" && st.Name == p.Without
	}}
}

// inPasses has a monitor of a maintain loop count the passes, the last of which ends the run.
func inPasses(m monitor, l *fsm.Loop) monitor {
	if !l.Maintain || l.MaxIterations <= 0 {
		return m
	}
	most, handler := int32(min(l.MaxIterations, l.MaxSteps+1)), l.States[l.OnMaxIterations] //nolint:gosec // a product that is too large is refused
	return monitor{
		states: m.states * (most + 1), ends: m.ends,
		enter: func(q int32, st *fsm.State) (int32, bool, bool) {
			own, pass := q/(most+1), q%(most+1)
			if pass == most { // another state is entered instead, or none
				if handler == nil {
					return q, m.ends, true
				}
				_, broken, done := m.enter(own, handler)
				return q, broken || m.ends && !done, true
			}
			next, broken, done := m.enter(own, st)
			if st.Terminal {
				pass++
			}
			return next*(most+1) + pass, broken, done
		},
	}
}

// properties checks the properties of the loop.
func (r *Proof) properties() {
	for _, p := range r.Loop.Properties {
		c := Checked{Property: p}
		hit, known := r.check(monitorOf(p))
		if c.Holds, c.Unknown = hit == nil && known, hit == nil && !known; hit != nil {
			c.Path, c.replies, c.end = r.graph.pathOf(hit.path, hit.end, false), hit.path, hit.end
		}
		r.Checked = append(r.Checked, c)
	}
}

// check finds a shortest run in which a monitor sees what it looks for. It reports false if that is not known.
func (r *Proof) check(m monitor) (hit *found, known bool) {
	hit, known = r.breach(m)
	within := false
	// exact, where the graph is not: a limit leads to another state before its own is entered, which takes no step
	if r.enters != nil {
		if counted, sure := r.search(&m, false, false); sure {
			hit, known, within = counted.broken, true, true
		}
		if hit != nil && hit.before > 0 { // a path that long was not kept
			if counted, sure := r.search(&m, true, false); sure && counted.broken != nil {
				hit = counted.broken
			}
		}
	}
	if l := r.Loop; l.MaxEdgeRevisits >= l.MaxSteps || r.Cycles == 0 ||
		hit == nil && (!m.ends || !within && known) || hit != nil && hit.end != fsm.EndCycle &&
		!r.graph.revisited(hit.path, hit.before) {
		return hit, known
	}
	if counted, sure := r.search(&m, true, true); sure {
		return counted.broken, true
	}
	if hit != nil && hit.end != fsm.EndCycle {
		r.graph.note(mayRevisit)
	}
	return hit, known && (hit != nil || !m.ends)
}

// breach finds a shortest run in which a monitor sees what it looks for, by verdicts alone if there is one. It reports
// false if that is not known.
func (r *Proof) breach(own monitor) (hit *found, known bool) {
	g, m := r.graph, inPasses(own, r.Loop)
	if len(g.nodes)*int(m.states) > mostExplored {
		return nil, false
	}
	known = true
	for _, take := range []func(*proofEdge) bool{(*proofEdge).plain, func(*proofEdge) bool { return true }} {
		if _, hit = g.explore(m, take); hit != nil {
			return hit, true
		}
		if !r.capped {
			continue
		}
		if hit, sure := r.round(m, take); hit != nil {
			return hit, true
		} else if !sure {
			known = false
		}
		if r.uncapped {
			continue
		}
		handler := r.Loop.States[r.Loop.OnMaxSteps]
		if handler == nil && !m.ends {
			continue
		}
		hit, sure := g.toCap(m, take, func(q int32) bool {
			if handler == nil {
				return true
			}
			_, broken, done := own.enter(q/(m.states/own.states), handler)
			return broken || m.ends && !done
		})
		if known = known && sure; hit != nil {
			if path := hit.path; handler != nil { // what leads to the limit is looked at by its visit before it
				hit.path = append(path[:len(path)-1:len(path)-1],
					visitStep{node: g.node(proofNode{state: g.index[handler.Name]})})
			} else {
				hit.path = path[:len(path)-1]
			}
			return hit, true
		}
	}
	return nil, known
}

// mostRounds is how many visits are looked at for the shortest way back to them.
const mostRounds = 500

// round finds a run that takes one edge more often than max_edge_revisits allows, where the end of a run is
// looked for. It reports false if that is not known.
func (r *Proof) round(m monitor, take func(*proofEdge) bool) (hit *found, known bool) {
	g, most := r.graph, r.Loop.MaxEdgeRevisits
	if !m.ends || most >= r.Loop.MaxSteps || r.Cycles == 0 {
		return nil, true
	}
	all, _ := g.explore(monitor{states: m.states, enter: m.enter}, take)
	tries := 0
	for _, at := range all.order {
		v := at / m.states
		if g.terminal(v) {
			continue
		}
		if tries++; tries > mostRounds {
			return nil, false
		}
		way := g.around(m, at, take, (r.Loop.MaxSteps-1-int(all.steps[at]))/most)
		if way == nil {
			continue
		}
		path := all.pathTo(at)
		path = path[:len(path)-1]
		for range most {
			path = append(path, way...)
		}
		return &found{path: append(path, way[0]), end: fsm.EndCycle}, true
	}
	// a way back to a state that was entered another number of times in a row is not looked at
	return nil, !slices.ContainsFunc(g.nodes, func(n proofNode) bool { return n.again != 0 || n.held > 0 })
}

// around returns the shortest way from a pair of a visit and a state of a monitor back to it, of at most so
// many steps; nil = there is none.
func (g *proofGraph) around(m monitor, at int32, take func(*proofEdge) bool, most int) []visitStep {
	type step struct {
		from  int32
		steps int
		visitStep
	}
	by := map[int32]step{}
	queue := []int32{at}
	for k := 0; k < len(queue); k++ {
		v, q := queue[k]/m.states, queue[k]%m.states
		steps := by[queue[k]].steps
		if k == 0 {
			steps = 0
		}
		if g.terminal(v) || steps >= most && !g.passing(v) {
			continue
		}
		next := q
		if !g.passing(v) {
			steps++
			var broken, done bool
			if next, broken, done = m.enter(q, g.stateOf(v)); broken || done {
				continue
			}
		}
		for i := range g.edges[v] {
			e := &g.edges[v][i]
			to := e.to*m.states + next
			if _, seen := by[to]; seen || !take(e) {
				continue
			}
			by[to] = step{queue[k], steps, visitStep{v, e.word, e.kind, g.nodes[e.to].state + 1}}
			if to != at {
				queue = append(queue, to)
				continue
			}
			var way []visitStep
			for from := at; ; {
				s := by[from]
				if !g.passing(s.node) {
					way = append(way, s.visitStep)
				}
				if from = s.from; from == at {
					break
				}
			}
			slices.Reverse(way)
			return way
		}
	}
	return nil
}

// A player gives a run the verdicts of a path, and then those that lead to an end as soon as may be. It notes all.
type player struct {
	proof *Proof
	path  []visitStep
	used  int
	again int // tries of the state before that are to come to the same
	last  string
	lines []string
}

func (p *player) next(st *fsm.State) (reply, error) {
	word := ""
	outer := p.proof.Loop.States[st.Name] == st
	switch {
	case outer && p.again > 0:
		p.again--
		word = p.last
	case outer:
		word = p.along(st)
		p.last, p.again = word, 0
		if st.Retry != nil && actsAlone(st) && slices.Contains(st.Retry.On, word) {
			p.again = st.Retry.Times
		}
	default:
		word = p.inner(st)
	}
	p.lines = append(p.lines, st.Name+" "+word)
	return reply{codeFor(st, word), word}, nil
}

// along returns what a state of the path comes to.
func (p *player) along(st *fsm.State) string {
	for p.used < len(p.path) {
		at := p.path[p.used]
		p.used++
		if p.proof.graph.stateOf(at.node) != st {
			continue
		}
		if at.word != "" && unknownVerdict(st, at.word) == "" {
			return at.word
		}
		break
	}
	return p.proof.shortcut(st, "")
}

// inner returns what a state of a sub-loop comes to, so that the sub-loop ends as the path wants.
func (p *player) inner(st *fsm.State) string {
	want := ""
	for k := p.used; k < len(p.path); k++ {
		if at := p.proof.graph.stateOf(p.path[k].node); at.Loop != "" {
			want = p.path[k].word
			break
		}
	}
	for _, r := range p.proof.inner {
		if r.Loop.States[st.Name] == st {
			return r.shortcut(st, want)
		}
	}
	return choices(st)[0]
}

func (p *player) rest() error { return nil }

// shortcut returns the verdict of a state that leads soonest to an end: yes and no are a terminal state that is no
// failure, and one that is; "" = any.
func (r *Proof) shortcut(st *fsm.State, end string) string {
	if r.near == nil {
		r.near = map[string][]int32{}
	}
	if r.near[end] == nil {
		r.near[end] = r.graph.toEnds(end)
	}
	known := shortcutTo{st, end}
	word, is := r.short[known]
	if !is {
		if word = r.shortest(st, end); word == "" {
			word = choices(st)[0]
		}
		if r.short == nil {
			r.short = map[shortcutTo]string{}
		}
		r.short[known] = word
	}
	return word
}

// A shortcutTo is what a verdict of a state leads to soonest.
type shortcutTo struct {
	from *fsm.State
	end  string
}

// shortest returns the verdict of a state that leads soonest to an end; "" = none does.
func (r *Proof) shortest(st *fsm.State, end string) (word string) {
	if r.visitsOf == nil {
		r.visitsOf = map[*fsm.State][]int32{}
		for n := range int32(len(r.graph.nodes)) { //nolint:gosec // at most mostNodes
			if !r.graph.passing(n) {
				r.visitsOf[r.graph.stateOf(n)] = append(r.visitsOf[r.graph.stateOf(n)], n)
			}
		}
	}
	best := int32(far)
	for _, n := range r.visitsOf[st] {
		for i := range r.graph.edges[n] {
			if e := &r.graph.edges[n][i]; e.kind != byLimit && r.near[end][e.to] < best &&
				unknownVerdict(st, e.word) == "" {
				best, word = r.near[end][e.to], e.word
			}
		}
	}
	return word
}

// far is the distance of what no path leads to.
const far = 1 << 30

// toEnds returns how many steps each node is from such an end.
func (g *proofGraph) toEnds(end string) []int32 {
	back := make([][]int32, len(g.nodes))
	steps := make([]int32, len(g.nodes))
	var queue []int32
	for n := range int32(len(g.nodes)) { //nolint:gosec // at most mostNodes
		steps[n] = far
		for _, e := range g.edges[n] {
			back[e.to] = append(back[e.to], n)
		}
		if g.terminal(n) && (end == "" || g.stateOf(n).Failure != (end == "yes")) ||
			end == "" && len(g.ends[n]) > 0 && len(g.edges[n]) == 0 {
			steps[n], queue = 0, append(queue, n)
		}
	}
	for k := 0; k < len(queue); k++ {
		for _, from := range back[queue[k]] {
			if steps[from] == far {
				steps[from], queue = steps[queue[k]]+1, append(queue, from)
			}
		}
	}
	return steps
}

// breaks reports whether a run that entered these states, and ended in the last of them, breaks a property.
func breaks(p fsm.Property, l *fsm.Loop, entered []string) bool {
	m := monitorOf(p)
	q := int32(0)
	for _, name := range entered {
		next, broken, done := m.enter(q, l.States[name])
		if broken || done {
			return broken
		}
		q = next
	}
	return m.ends
}

// enteredBy returns the state that an event of a run says was entered, "" for none. A maintain loop leaves its terminal
// states again.
func enteredBy(e fsm.Event) (name string) {
	switch {
	case e.Depth > 0:
	case e.Kind == fsm.EventStateEnter:
		name, _ = e.Get("state").(string)
	case e.Kind == fsm.EventRoute && e.Get("reason") == "maintain":
		name, _ = e.Get("from").(string)
	}
	return name
}

// Scenario plays the run that breaks a property by walking it with made-up results, and returns a script of its
// verdicts. It reports false if verdicts alone do not lead there: something outside of the definition, or a
// value, has to help.
func (r *Proof) Scenario(i int, walk func(Replies, func(fsm.Event)) (fsm.Outcome, error)) (lines []string, ok bool) {
	c := r.Checked[i]
	if c.Holds || c.Unknown {
		return nil, false
	}
	p := &player{proof: r, path: slices.Clone(c.replies)}
	var entered []string
	o, err := walk(p, func(e fsm.Event) {
		if name := enteredBy(e); name != "" {
			entered = append(entered, name)
		}
	})
	if err != nil {
		return nil, false
	}
	if o.TerminatedBy == fsm.EndTerminal {
		entered = append(entered, o.FinalState)
	}
	return p.lines, len(p.lines) > 0 && breaks(c.Property, r.Loop, entered)
}
