// Package diagram draws a loop: as text for a terminal, as Mermaid, Graphviz DOT and SVG, and as a page of HTML. It is
// pure: the same graph is the same bytes. Names and texts of a loop may be anything; they are made harmless for the
// format they are written in.
package diagram

import (
	"slices"
	"strings"

	"loops/fsm"
)

// A Graph is a loop as states and the transitions between them. It is not safe for concurrent writes.
type Graph struct {
	Name  string
	By    string // what Measure gave it: "outcome", "visits", "time" or "cost"; "" for a loop that was not measured
	Nodes []Node // in file order
	Edges []Edge

	// Address makes a state of a picture a link; nil = it is not one.
	Address func(state string) string

	index map[string]int
}

// A Node is one state.
type Node struct {
	Name        string
	Does        string   // in a few words, one line; "" for a state without an action
	Entered     []string // what leads here from every state: "max_steps"
	Initial     bool
	Terminal    bool
	Failure     bool // a failure terminal
	Unreachable bool // no run can come here
	Unknown     bool // a run was here, but the loop has no such state
	Template    bool // no state but a target that is worked out while the loop runs

	Current bool    // the run is here
	Failed  bool    // the run ended badly here
	Amount  string  // what was measured, for a person; "" if nothing was
	Heat    int     // 0 for nothing, else from 1 to 5
	Value   float64 // what was measured
	Tone    Tone    // how it came out last; "" = that was not measured
}

// An Edge is every way from one state to another.
type Edge struct {
	From, To  int      // of Nodes
	Labels    []string // when it is taken; none is always
	Exception bool     // only when something goes wrong
	Taken     int      // how often a run took it
}

// Of returns the graph of a loop. The loop is not kept.
func Of(l *fsm.Loop) *Graph {
	g := &Graph{Name: l.Name, index: map[string]int{}}
	for _, name := range l.Order {
		s := l.States[name]
		if s == nil {
			continue
		}
		g.node(name)
		n := &g.Nodes[g.index[name]]
		n.Does, n.Initial, n.Terminal, n.Failure = does(s), name == l.Initial, s.Terminal, s.Terminal && s.Failure
	}
	for _, name := range l.Order {
		if s := l.States[name]; s != nil && !s.Terminal {
			g.ways(s)
		}
	}
	for _, h := range entrances(l) {
		if i, ok := g.index[h[1]]; ok {
			g.Nodes[i].Entered = append(g.Nodes[i].Entered, h[0])
		}
	}
	g.reach(l)
	return g
}

// node returns the number of a state, which is added if it is new.
func (g *Graph) node(name string) int {
	i, ok := g.index[name]
	if !ok {
		i = len(g.Nodes)
		g.Nodes = append(g.Nodes, Node{Name: name})
		g.index[name] = i
	}
	return i
}

// ways adds the transitions out of a state, those to one target together.
func (g *Graph) ways(s *fsm.State) {
	from, first := g.index[s.Name], len(g.Edges)
	add := func(label, to string, exception bool) {
		if to == "" {
			return
		}
		if to == fsm.Current {
			to = s.Name
		}
		i, ok := g.index[to]
		if !ok { // a template: every other target was checked to be a state
			i = g.node(to)
			g.Nodes[i].Template = true
		}
		k := slices.IndexFunc(g.Edges[first:], func(e Edge) bool { return e.To == i })
		if k < 0 {
			g.Edges = append(g.Edges, Edge{From: from, To: i, Exception: true})
			k = len(g.Edges) - 1 - first
		}
		e := &g.Edges[first+k]
		if label != "" {
			e.Labels = append(e.Labels, label)
		}
		e.Exception = e.Exception && exception
	}
	for _, v := range sortedVerdicts(s) {
		add(v, s.On[v], v == "error")
	}
	if s.Route != nil {
		for _, v := range s.Route.Table.Keys() {
			target, _ := s.Route.Table.Get(v)
			to, _ := target.(string)
			add(v, to, false)
		}
		for _, row := range s.Route.Cases {
			add(row.Condition(), row.To, false)
		}
		add("else", s.Route.Default, false)
		if s.Route.Cases == nil { // there it is on_error
			add("error", s.Route.Error, true)
		}
	}
	add("", s.Next, false)
	add("maintain", s.OnMaintain, false)
	add("retries exhausted", s.OnRetryExhausted, true)
	add("rate limit exhausted", s.OnRateLimitExhausted, true)
	add("throttled", s.OnThrottleHard, true)
	add("guarded", s.OnGuarded, true)
	add("suspended", s.OnSuspended, true)
	add("interrupted", s.OnInterrupted, true)
	add("budget used up", s.OnBudget, true)
}

// sortedVerdicts returns the verdicts that on_* keys name: yes first, then no, the others in order, error last.
func sortedVerdicts(s *fsm.State) []string {
	rank := map[string]int{"yes": -2, "no": -1, "error": 1}
	keys := make([]string, 0, len(s.On))
	for v := range s.On {
		keys = append(keys, v)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := rank[a] - rank[b]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

// entrances says which states a run comes to from anywhere, and why.
func entrances(l *fsm.Loop) [][2]string {
	out := [][2]string{
		{"max_steps", l.OnMaxSteps},
		{"max_iterations", l.OnMaxIterations},
		{"budget", l.OnBudget},
		{"memory pressure", l.HostGuard.PressureState},
		{"memory budget", l.HostGuard.BudgetState},
		{"memory abort", l.HostGuard.OnAbortRoute},
	}
	if l.Stall != nil && l.Stall.OnRepeated != "abort" {
		out = append(out, [2]string{"no progress", l.Stall.OnRepeated})
	}
	return slices.DeleteFunc(out, func(h [2]string) bool { return h[1] == "" })
}

// reach marks the states that no run can come to. Where a target that is reached is a template, it is not known.
func (g *Graph) reach(l *fsm.Loop) {
	seen := make([]bool, len(g.Nodes))
	var queue []int
	visit := func(i int) {
		if !seen[i] {
			seen[i] = true
			queue = append(queue, i)
		}
	}
	for i, n := range g.Nodes {
		if n.Initial || len(n.Entered) > 0 {
			visit(i)
		}
	}
	next := g.next()
	for k := 0; k < len(queue); k++ {
		for _, e := range next[queue[k]] {
			visit(g.Edges[e].To)
		}
	}
	for _, h := range entrances(l) {
		if strings.Contains(h[1], "${") {
			return
		}
	}
	for i, n := range g.Nodes {
		if n.Template && seen[i] {
			return
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].Unreachable = !seen[i]
	}
}

// next returns for each node the edges that leave it.
func (g *Graph) next() [][]int {
	next := make([][]int, len(g.Nodes))
	for k, e := range g.Edges {
		next[e.From] = append(next[e.From], k)
	}
	return next
}

// does says in one line what a state does.
func does(s *fsm.State) string {
	switch {
	case s.Title() != "":
		return oneLine(s.Title())
	case s.Loop != "":
		return "loop " + oneLine(s.Loop)
	case s.Terminal:
		return ""
	case s.Await != nil:
		return oneLine(s.Await.String())
	case s.Branches != nil:
		return oneLine(s.Branches.String())
	case s.Each != nil:
		return oneLine(s.Each.String() + ": $ " + s.Action)
	case s.Action != "":
		kind := "$ "
		if s.ActionType != "" && s.ActionType != "shell" {
			kind = s.ActionType + ": "
		}
		return oneLine(kind + firstCodeLine(s.Action))
	case s.Evaluate != nil:
		return "? " + s.Evaluate.Type
	}
	return ""
}

// firstCodeLine returns the first line of a script that is neither blank nor a comment.
func firstCodeLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}
