package simulate

import (
	"cmp"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/lint"
)

// What has a run follow an edge of a [proofGraph].
type edgeKind uint8

const (
	byVerdict edgeKind = iota
	byFailure          // a verdict that says that something failed
	byLimit            // a limit, or something outside of the definition
)

// failing are the verdicts that say that something failed. A no is an answer.
var failing = []string{"error", "timeout", "tool_error", "not_found", "guarded"}

// A proofEdge leads from one visit to the next one.
type proofEdge struct {
	to   int32
	kind edgeKind
	// the verdict, or the key of the limit
	word string
	// how often it can be taken in one run: as often as max_edge_revisits says, or by what takes itself out
	often edgeCount
	fails bool // a failure or a limit leads there, whatever kind is
}

type edgeCount uint8

const (
	asRevisits edgeCount = iota
	asRetries            // each time that max_retries is used up
	asPasses             // a maintain loop begins again
	asOften              // nothing counts it
)

// A proofEnd is a way in which a run ends in a state that is not terminal.
type proofEnd struct {
	kind edgeKind
	word string // the verdict that leads nowhere, or the key of the limit
	end  string // how the run ends
}

// A proofNode is a visit: a state with what is counted of the stay in it.
type proofNode struct {
	state int32 // -1 = a state that is known only in a run
	again int32 // entries of the same stay before this one; spent = it is not entered, because max_retries is used up
	held  int32 // answers in a row by which the judge abstained
	// by how many the entries of the same stay are less than again: what a budget kept from being made counts
	// as a retry, and retries begin to count again where they are used up. Of a spent visit, minus the entries.
	missed int32
}

// spent is the again of a state that is left for on_retry_exhausted when it would be entered once more.
const spent = -1

// A proofGraph has the visits that a run may come to, and how one leads to another.
type proofGraph struct {
	l      *fsm.Loop
	states []*fsm.State
	index  map[string]int32
	nodes  []proofNode
	at     map[proofNode]int32
	edges  [][]proofEdge
	ends   [][]proofEnd
	start  int32

	inner  func(st *fsm.State) []string // verdicts that the sub-loop of a state can come to
	coarse bool                         // what is counted within a stay is left out
	stalls bool                         // circuit.repeated_failure may lead elsewhere
	notes  map[string]bool              // what is taken as possible although only a run knows it
	free   map[proofNode]bool           // visits at which no budget can be reached; nil = that is not known
}

// mostNodes is how many visits a graph may have before what is counted within a stay is left out of it.
const mostNodes = 400_000

func newProofGraph(l *fsm.Loop, inner func(*fsm.State) []string) *proofGraph {
	g := &proofGraph{l: l, inner: inner, notes: map[string]bool{}}
	g.index = make(map[string]int32, len(l.Order))
	for _, name := range l.Order {
		if st := l.States[name]; st != nil {
			g.index[name] = int32(len(g.states)) //nolint:gosec // a file has no more states
			g.states = append(g.states, st)
		}
	}
	if !g.build() {
		g.coarse = true
		g.note("max_retries, throttle and abstaining judges are not counted: the loop has too many states for that")
		g.build()
	}
	if s := l.Stall; s != nil && s.OnRepeated != "" && s.OnRepeated != "abort" {
		g.note("circuit.repeated_failure may lead to its state from each state that is judged")
		if _, cyclic := g.components(); s.Window == 1 || cyclic {
			g.stalls = true
			g.build()
		}
	}
	return g
}

func (g *proofGraph) note(text string) { g.notes[text] = true }

// build makes all visits that a run comes to. It reports false if there are too many.
func (g *proofGraph) build() bool {
	g.nodes, g.edges, g.ends, g.at = nil, nil, nil, make(map[proofNode]int32)
	i, known := g.index[g.l.Initial]
	if !known {
		return true
	}
	g.start = g.node(proofNode{state: i})
	for n := 0; n < len(g.nodes); n++ {
		g.expand(int32(n)) //nolint:gosec // at most mostNodes
		if len(g.nodes) > mostNodes && !g.coarse {
			return false
		}
	}
	return true
}

func (g *proofGraph) node(n proofNode) int32 {
	if at, ok := g.at[n]; ok {
		return at
	}
	at := int32(len(g.nodes)) //nolint:gosec // at most mostNodes
	g.at[n] = at
	g.nodes, g.edges, g.ends = append(g.nodes, n), append(g.edges, nil), append(g.ends, nil)
	return at
}

// terminal reports whether a run ends in a node.
func (g *proofGraph) terminal(n int32) bool {
	s := g.nodes[n].state
	return s >= 0 && g.states[s].Terminal && !g.l.Maintain
}

// passing reports whether a node only stands between two visits: no step is taken there.
func (g *proofGraph) passing(n int32) bool { return g.nodes[n].state < 0 || g.nodes[n].again == spent }

// stateOf returns the state of a node, nil for one that is known only in a run.
func (g *proofGraph) stateOf(n int32) *fsm.State {
	if s := g.nodes[n].state; s >= 0 {
		return g.states[s]
	}
	return nil
}

func throttleOf(l *fsm.Loop, st *fsm.State) *fsm.Throttle {
	if !actsAlone(st) {
		return nil
	}
	return cmp.Or(st.Throttle, l.Throttle)
}

// triesOf returns how often one visit to a state acts at most.
func triesOf(st *fsm.State) int {
	if st.Retry == nil || !actsAlone(st) {
		return 1
	}
	return 1 + st.Retry.Times
}

// actsAlone reports whether a visit to the state does one action, which may be tried again.
func actsAlone(st *fsm.State) bool {
	return st.Action != "" && st.Loop == "" && st.Await == nil && st.Each == nil && st.Branches == nil &&
		(st.Next != "" || fsm.KindOf(st) != fsm.KindContract)
}

// expand adds what follows a visit.
func (g *proofGraph) expand(n int32) {
	v := g.nodes[n]
	if v.state < 0 { // any state
		for i := range g.states {
			to := g.node(proofNode{state: int32(i)}) //nolint:gosec // a file has no more states
			g.edges[n] = append(g.edges[n], proofEdge{to: to, kind: byVerdict, often: asOften})
		}
		return
	}
	st := g.states[v.state]
	switch {
	case v.again == spent:
		g.follow(n, st.OnRetryExhausted, "on_retry_exhausted", byLimit, asRetries, 0)
		g.budget(n, st)
		return
	case st.Terminal:
		if g.l.Maintain {
			g.follow(n, cmp.Or(st.OnMaintain, g.l.Initial), "maintain", byVerdict, asPasses, 0)
		}
		return
	}
	g.limits(n, st)
	if th := throttleOf(g.l, st); th != nil && !g.coarse {
		acts := int(v.again-v.missed) + 1
		least, most, slot := acts, acts*triesOf(st), cmp.Or(st.OnThrottleHard, st.On["error"])
		if most > th.Hard {
			g.end(n, "throttle", byFailure)
		}
		if slot != "" && least <= th.Hard && most >= th.Hard {
			g.follow(n, slot, "on_throttle_hard", byLimit, asRevisits, 0)
		}
		if least > th.Hard || slot != "" && least == th.Hard {
			return
		}
	}
	g.verdicts(n, st)
}

// verdicts adds where the verdicts of a state lead.
func (g *proofGraph) verdicts(n int32, st *fsm.State) {
	rows := st.Route != nil && st.Route.Cases != nil && st.Next == ""
	for _, verdict := range comesTo(st, g.inner) {
		kind := byVerdict
		if slices.Contains(failing, verdict) {
			kind = byFailure
		}
		switch {
		case verdict == "cannot_judge" && !declares(st, verdict):
			g.abstain(n, st)
		case rows && verdict != "error":
		default:
			g.follow(n, fsm.Slot(st, verdict), verdict, kind, asRevisits, 0)
		}
	}
	if rows {
		g.note("each row of a route that is a list of conditions may be taken")
		sure := false
		for _, row := range st.Route.Cases {
			g.follow(n, row.To, "route", byVerdict, asRevisits, 0)
			if sure = row.When == nil || row.When.String() == "true"; sure {
				break
			}
		}
		if !sure {
			g.end(n, "no condition holds", byVerdict)
		}
	}
}

// comesTo returns the verdicts that a state may come to.
func comesTo(st *fsm.State, inner func(*fsm.State) []string) []string {
	switch {
	case st.Loop != "":
		return inner(st)
	case st.Next != "":
		if EvaluatorOf(st) == "" && st.Action == "" && st.Await == nil && st.Branches == nil && st.Each == nil {
			return []string{"yes"}
		}
		return []string{"yes", "error"}
	case EvaluatorOf(st) == "": // nothing is judged
		return []string{"yes"}
	}
	words, open := lint.Verdicts(st)
	if open && !slices.Contains(words, "other") {
		words = append(words, "other")
	}
	known := declared(st)
	for _, w := range known {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	// those that have a route come first, so that a path is told by them
	slices.SortStableFunc(words, func(a, b string) int {
		has := func(w string) int {
			if slices.Contains(known, w) {
				return 0
			}
			return 1
		}
		return cmp.Or(has(a)-has(b), rank(a)-rank(b))
	})
	return words
}

func declares(st *fsm.State, verdict string) bool {
	if st.Route != nil {
		_, ok := st.Route.Table.Get(verdict)
		return ok
	}
	return st.On[verdict] != ""
}

// mostHolds is how often in a row a judge may abstain before that is an error.
const mostHolds = 2

// abstain adds what follows a judge that abstained.
func (g *proofGraph) abstain(n int32, st *fsm.State) {
	v := g.nodes[n]
	slot := st.On["error"]
	if st.Route != nil {
		slot = st.Route.Error
	}
	if v.held < mostHolds || g.coarse {
		g.follow(n, fsm.Current, "cannot_judge", byFailure, asRevisits, v.held+1)
	}
	if v.held >= mostHolds || g.coarse {
		g.follow(n, slot, "cannot_judge", byFailure, asRevisits, 0)
	}
}

// limits adds where a limit of a state, or something outside of the definition, leads.
func (g *proofGraph) limits(n int32, st *fsm.State) {
	l := g.l
	asks := fsm.Prompts(st) || AsksJudge(st) || st.Branches != nil || st.Each != nil
	outside := func(slot, key string, often edgeCount) {
		if slot != "" {
			g.follow(n, slot, key, byLimit, often, 0)
		}
	}
	if st.RetryableExitCodes != nil {
		outside(st.OnRetryExhausted, "retryable_exit_codes", asRevisits)
	}
	outside(st.OnRateLimitExhausted, "on_rate_limit_exhausted", asRevisits)
	outside(st.OnInterrupted, "on_interrupted", asRevisits)
	if asks || st.Loop != "" || st.Call != nil || st.ActionType == "mcp_tool" {
		outside(st.OnSuspended, "on_suspended", asRevisits)
	}
	if st.Guard != nil || l.Guard != nil {
		if st.OnGuarded != "" {
			outside(st.OnGuarded, "on_guarded", asRevisits)
		} else if st.Action != "" || st.Branches != nil || st.Loop != "" {
			g.end(n, "guarded", byLimit)
		}
	}
	g.budget(n, st)
	if h := l.HostGuard; h.Enabled {
		outside(h.PressureState, "host_guard", asRevisits)
		outside(h.BudgetState, "host_guard", asRevisits)
		outside(h.OnAbortRoute, "host_guard", asRevisits)
	}
	if g.stalls && EvaluatorOf(st) != "" {
		outside(l.Stall.OnRepeated, "circuit.repeated_failure", asRevisits)
	}
}

// budget adds where a budget leads that is used up before the state is entered, or before a prompt of it.
func (g *proofGraph) budget(n int32, st *fsm.State) {
	slot, often := st.OnBudget, asOften
	if slot == "" {
		slot, often = g.l.OnBudget, asRevisits
	}
	if slot != "" && (g.l.Budget != nil || st.Budget != nil) && !g.free[g.nodes[n]] {
		g.follow(n, slot, onBudget, byLimit, often, 0)
	}
}

func (g *proofGraph) end(n int32, word string, kind edgeKind) {
	g.ends[n] = append(g.ends[n], proofEnd{kind, word, fsm.EndError})
}

// follow adds an edge to where a slot leads.
func (g *proofGraph) follow(n int32, slot, word string, kind edgeKind, often edgeCount, held int32) {
	v := g.nodes[n]
	switch {
	case slot == "" && g.l.Maintain && kind != byLimit:
		slot, often = cmp.Or(g.states[v.state].OnMaintain, g.l.Initial), asRevisits
	case slot == "":
		g.end(n, word, kind)
		return
	case slot == fsm.Current:
		slot = g.states[v.state].Name
	case strings.Contains(slot, "${"):
		g.note("a target that is a template may be any state")
		g.link(n, proofEdge{to: g.node(proofNode{state: -1}), kind: kind, word: word, often: often})
		return
	}
	to, known := g.index[slot]
	if !known {
		g.end(n, word, kind)
		return
	}
	next := proofNode{state: to, held: held}
	switch {
	case to != v.state || often == asPasses:
	case often == asRetries: // it begins to count again, and this entry is one more
		next.again = 1
		if g.countsThrottle(g.states[to]) {
			next.missed = 1 + v.missed
		}
	case word == onBudget && v.again == spent:
		return // it is spent still
	default:
		next = g.stay(v, held)
		if word == onBudget {
			g.link(n, proofEdge{to: g.node(g.unentered(v)), kind: kind, word: word, often: often})
		}
		if g.coarse && g.states[to].MaxRetries > 0 {
			g.link(n, proofEdge{
				to: g.node(proofNode{state: to, again: spent}), kind: byLimit, word: word,
				often: often,
			})
		}
	}
	if int(next.again-next.missed) > g.l.MaxEdgeRevisits {
		g.ends[n] = append(g.ends[n], proofEnd{kind, word, fsm.EndCycle})
		return
	}
	if next.again == spent {
		kind = max(kind, byFailure)
	}
	if g.coarse {
		next = proofNode{state: to}
	}
	g.link(n, proofEdge{to: g.node(next), kind: kind, word: word, often: often})
}

// stay returns the visit after one to the same state.
func (g *proofGraph) stay(v proofNode, held int32) proofNode {
	st := g.states[v.state]
	next := proofNode{state: v.state, held: held}
	if g.coarse {
		return proofNode{state: v.state}
	}
	if g.countsStay(st) {
		next.again, next.missed = v.again+1, v.missed
	}
	if st.MaxRetries > 0 && int(next.again) > st.MaxRetries && int(next.again-next.missed) <= g.l.MaxEdgeRevisits {
		entries := next.again - next.missed
		if next = (proofNode{state: v.state, again: spent}); g.countsThrottle(st) {
			next.missed = -entries
		}
	}
	return next
}

// unentered returns the visit to the same state after a budget kept v from being entered: that counts as a retry once.
func (g *proofGraph) unentered(v proofNode) proofNode {
	if v.again == 0 && !g.coarse && g.countsStay(g.states[v.state]) {
		v.again, v.missed = 1, 1
	}
	return v
}

// countsStay reports whether it matters how often in a row a state is entered.
func (g *proofGraph) countsStay(st *fsm.State) bool {
	return st.MaxRetries > 0 && st.MaxRetries <= g.l.MaxSteps || g.countsThrottle(st)
}

// countsThrottle reports whether it matters how often in a row a state acts.
func (g *proofGraph) countsThrottle(st *fsm.State) bool {
	th := throttleOf(g.l, st)
	return th != nil && th.Hard <= g.l.MaxSteps*triesOf(st)
}

// link adds an edge, unless one that is no worse leads there already.
func (g *proofGraph) link(n int32, e proofEdge) {
	e.fails = e.kind != byVerdict
	for i := range g.edges[n] {
		if old := &g.edges[n][i]; old.to == e.to {
			tried := g.retries(n, old.word) && !g.retries(n, e.word)
			// a budget may have to be left out
			if e.kind < old.kind || e.kind == old.kind && tried || old.word == onBudget {
				old.kind, old.word = e.kind, e.word
			}
			old.often, old.fails = max(old.often, e.often), old.fails || e.fails
			return
		}
	}
	g.edges[n] = append(g.edges[n], e)
}

// retries reports whether a state is tried again where it comes to a verdict, before that leads anywhere.
func (g *proofGraph) retries(n int32, word string) bool {
	st := g.stateOf(n)
	return st != nil && triesOf(st) > 1 && slices.Contains(st.Retry.On, word)
}

// components numbers the strongly connected components by Tarjan's algorithm, without recursion, in an order in which
// edges lead from higher numbers to lower ones. It reports whether a run can come to the same visit twice.
func (g *proofGraph) components() (of []int32, cyclic bool) {
	n := len(g.nodes)
	of = make([]int32, n)
	low, number := make([]int32, n), make([]int32, n)
	var stack []int32
	var count, made int32
	type frame struct {
		node int32
		edge int
	}
	for root := range int32(n) { //nolint:gosec // at most mostNodes
		if number[root] != 0 {
			continue
		}
		for call := []frame{{root, 0}}; len(call) > 0; {
			top := &call[len(call)-1]
			v := top.node
			if top.edge == 0 {
				count++
				number[v], low[v], of[v] = count, count, -1
				stack = append(stack, v)
			}
			if top.edge < len(g.edges[v]) {
				w := g.edges[v][top.edge].to
				top.edge++
				switch {
				case number[w] == 0:
					call = append(call, frame{w, 0})
				case of[w] < 0:
					low[v] = min(low[v], number[w])
				}
				cyclic = cyclic || w == v
				continue
			}
			call = call[:len(call)-1]
			if len(call) > 0 {
				up := call[len(call)-1].node
				low[up] = min(low[up], low[v])
			}
			if low[v] != number[v] {
				continue
			}
			for size := 0; ; size++ {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				of[w] = made
				if w == v {
					cyclic = cyclic || size > 0
					break
				}
			}
			made++
		}
	}
	return of, cyclic
}
