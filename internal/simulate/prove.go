package simulate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"loops/fsm"
)

// A Proof is what holds of all runs of a loop, whatever its actions and judges come to.
type Proof struct {
	Loop     *fsm.Loop
	Steps    Bound // states that a run enters, those of its sub-loops left out
	AllSteps Bound // with those of its sub-loops
	Prompts  Bound // prompts and questions to judges, with those of its sub-loops
	Cost     float64
	// Limited is whether Cost limits the US dollars of a run: the prompt that crosses it is the last one. Without
	// prompts nothing costs anything.
	Limited bool
	Cycle   []string // the shortest way from a state back to itself; nil = there is none
	Cycles  int      // groups of states that lead back to themselves
	Retried []string // states that lead back to themselves until max_retries is used up
	Ends    []ProofPath
	Failing []ProofPath // to the states that only a failure or a limit reaches
	Never   []string    // states that no run enters
	Waits   []string    // states that may wait without an end
	Checked []Checked   // the properties, in their order
	Notes   []string    // what is taken as possible, or left out

	graph  *proofGraph
	capped bool               // max_steps may be reached
	near   map[string][]int32 // steps from each node to an end, by what that is
	inner  []*Proof           // of the loops that it runs, directly or not

	short    map[shortcutTo]string  // the verdicts that lead soonest to an end
	visitsOf map[*fsm.State][]int32 // the nodes of each state that is entered there

	use       []load     // of one visit to each state
	exceeded  *ProofPath // the shortest path on which a budget ends the run; nil = none does
	mayExceed bool       // that is not known

	strict    bool               // as that of the prover
	enters    map[proofNode]bool // visits that budgets let a run enter; nil = all
	entered   *entries           // the shortest path to each state that they let a run enter; nil = they limit none
	uncapped  bool               // a budget ends or leads each run before max_steps does
	unflushed bool               // a budget comes before on_max_steps
	passed    bool               // of a search within budgets: max_iterations ends a run
	// of that search: the state of on_max_iterations is entered
	passHandled bool
	exceeding   []visitStep     // the path of exceeded; nil = it has none
	cycled      *ProofPath      // the shortest path on which max_edge_revisits ends a run; nil = it ends none
	exact       *budgetSearch   // which counted the edges of runs; nil = that did not matter, or could not be done
	plainly     map[int32]int32 // of exact: the states that verdicts that are no failures lead to
}

// A Bound is an upper bound over all runs.
type Bound struct {
	Most  int64  // Unbounded = there is none
	By    string // the limit that gives it; "" = the longest path
	Exact bool   // a run reaches it
}

// Unbounded is the Most of a [Bound] where nothing limits it.
const Unbounded = int64(1) << 60

// A ProofPath is a shortest path from the first state.
type ProofPath struct {
	End    string   // terminal, or the limit or verdict that ends a run without one
	States []string // that are entered, in order
	Words  []string // the verdict or the limit that leads out of each of them, but of a terminal one
	Steps  int
	Failed bool // it ends as a failure
}

// A prover proves a loop and the loops that it runs.
type prover struct {
	lib   fsm.Library
	known map[string]*Proof // by file and digest
	open  map[string]bool   // files that are being proven

	strict bool // no agent refuses a prompt, as in simulations
}

// Prove returns what holds of all runs of a loop. lib finds the loops that it runs.
func Prove(l *fsm.Loop, lib fsm.Library) *Proof {
	return (&prover{lib: lib, known: map[string]*Proof{}, open: map[string]bool{}}).prove(l)
}

// errUnknownLoop is why nothing is known of a sub-loop.
var (
	errUnknownLoop = errors.New("its name is known only in a run")
	errItself      = errors.New("it runs itself, at most 32 times inside of each other")
)

// inside returns the proof of the loop that a state runs.
func (p *prover) inside(l *fsm.Loop, st *fsm.State) (*Proof, error) {
	if strings.Contains(st.Loop, "${") {
		return nil, errUnknownLoop
	}
	if p.lib == nil {
		return nil, errors.New("no loops can be found here")
	}
	child, err := p.lib.Loop(st.Loop, l)
	if err != nil {
		return nil, err
	}
	key := child.File + child.SHA256
	if done := p.known[key]; done != nil {
		return done, nil
	}
	if p.open[key] {
		return nil, errItself
	}
	return p.prove(child), nil
}

func (p *prover) prove(l *fsm.Loop) *Proof {
	key := l.File + l.SHA256
	p.open[key] = true
	defer delete(p.open, key)
	g := newProofGraph(l, func(st *fsm.State) []string { return p.comesOf(l, st) })
	r := &Proof{Loop: l, graph: g, strict: p.strict}
	p.budgets(r)
	p.bounds(r)
	r.cycle()
	r.revisits()
	r.reach()
	r.waits()
	r.properties()
	r.Notes = slices.Sorted(maps.Keys(g.notes))
	p.known[key] = r
	for _, inner := range p.known {
		if inner != r {
			r.inner = append(r.inner, inner)
		}
	}
	return r
}

// comesOf returns the verdicts that the sub-loop of a state can come to.
func (p *prover) comesOf(l *fsm.Loop, st *fsm.State) []string {
	r, err := p.inside(l, st)
	if err != nil {
		return []string{"yes", "no", "error", "timeout"}
	}
	words := []string{}
	has := func(end func(ProofPath) bool) bool { return slices.ContainsFunc(r.Ends, end) }
	if has(func(e ProofPath) bool { return e.End == fsm.EndTerminal && !e.Failed }) {
		words = append(words, "yes")
	}
	if has(func(e ProofPath) bool {
		return e.End == fsm.EndTerminal && e.Failed || e.End == fsm.EndCycle || e.End == fsm.EndStall ||
			e.End == fsm.EndBudget || e.End == fsm.EndCostCeiling
	}) {
		words = append(words, "no")
	}
	words = append(words, "error") // such as a template without a value
	if r.capped && !r.uncapped || r.Loop.Timeout > 0 || st.Timeout > 0 || r.Loop.Maintain {
		words = append(words, "timeout")
	}
	return words
}

// cycle finds the shortest way from a state back to itself, among those that a run comes to first.
func (r *Proof) cycle() {
	g := r.graph
	if len(g.nodes) == 0 {
		return
	}
	of, _ := g.components()
	size := map[int32]int{}
	for _, c := range of {
		size[c]++
	}
	seen, retried := map[int32]bool{}, map[string]bool{}
	for n := range int32(len(g.nodes)) { //nolint:gosec // at most mostNodes
		counted := func(e proofEdge) bool { return e.to != n && g.nodes[e.to].state == g.nodes[n].state }
		if name := g.name(n); !retried[name] && slices.ContainsFunc(g.edges[n], counted) {
			retried[name] = true
			r.Retried = append(r.Retried, name)
		}
		itself := slices.ContainsFunc(g.edges[n], func(e proofEdge) bool { return e.to == n })
		if size[of[n]] < 2 && !itself || seen[of[n]] {
			continue
		}
		if seen[of[n]] = true; r.Cycles == 0 {
			r.Cycle = g.back(n, of)
		}
		r.Cycles++
	}
}

// back returns the shortest way from a node back to it, as names of states; it begins and ends with that of the node.
func (g *proofGraph) back(n int32, of []int32) []string {
	by := map[int32]int32{}
	queue := []int32{n}
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		for _, e := range g.edges[at] {
			if of[e.to] != of[n] {
				continue
			}
			if e.to == n {
				names := []string{g.name(n)}
				for v := at; v != n; v = by[v] {
					if !g.passing(v) || g.nodes[v].state < 0 {
						names = append(names, g.name(v))
					}
				}
				slices.Reverse(names)
				return append([]string{g.name(n)}, names...)
			}
			if _, ok := by[e.to]; !ok {
				by[e.to] = at
				queue = append(queue, e.to)
			}
		}
	}
	return nil
}

func (g *proofGraph) name(n int32) string {
	if st := g.stateOf(n); st != nil {
		return st.Name
	}
	return "(any state)"
}

// waits finds the states that may wait without an end.
func (r *Proof) waits() {
	for _, st := range r.graph.states {
		if st.Await != nil && st.Timeout == 0 && r.Loop.Timeout == 0 {
			r.Waits = append(r.Waits, st.Name)
		}
	}
}
