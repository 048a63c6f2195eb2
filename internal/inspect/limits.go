package inspect

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
)

// A Limit is one of the limits of a run, and how far it is used up. What is counted in time is in seconds.
type Limit struct {
	Name       string // the key of the language: max_steps, timeout, max_retries, budget.cost_usd …
	Loop       string // whose it is
	State      string // "" = of the whole loop; of max_edge_revisits the edge, as "from -> to"
	Used, Most float64
	Unknown    bool // of a budget: what was used is not known
	Routes     bool // the run does not end at it, but goes another way
	seconds    bool
}

// Share is how much of the limit is used up, from 0 to 1; more where it is overdrawn.
func (l Limit) Share() float64 { return l.Used / l.Most }

// Near reports whether half of the limit or more is used up, or what was used is not known.
func (l Limit) Near() bool { return l.Unknown || l.Share() >= 0.5 }

// A Position is what is asked about: where a run is, and how long it has been there.
type Position struct {
	Memory *fsm.Snapshot
	Loops  LoopsByMemory
	Since  time.Duration // that its clock ran on since the memory was recorded
	Acting time.Duration // that the action in flight has run; 0 = none
	Silent time.Duration // that it has been silent
}

// LoopsByMemory are the loop of a run, and those of the sub-loops, branches and items that it is inside of,
// each by its memory. What is not known is not in it.
type LoopsByMemory map[*fsm.Snapshot]*fsm.Loop

// entered yields what a state runs, with the names of branches and items, but for what was not entered yet.
func entered(m *fsm.Snapshot) iter.Seq2[string, *fsm.Child] {
	return func(yield func(string, *fsm.Child) bool) {
		for name, c := range m.Inside() {
			if c.Memory.Step > 0 && !yield(name, c) {
				return
			}
		}
	}
}

// Limits returns the limits of which something is used up, the nearest to its end first.
func (s Position) Limits() []Limit {
	if s.Memory == nil {
		return nil
	}
	var c collector
	c.memory(s, s.Memory)
	slices.SortStableFunc(c.limits, func(a, b Limit) int { return cmp.Compare(b.Share(), a.Share()) })
	return c.limits
}

// memory adds what counts in a loop and in those inside it.
func (c *collector) memory(s Position, m *fsm.Snapshot) {
	acts := true
	for range entered(m) {
		acts = false
	}
	if l := s.Loops[m]; l != nil {
		c.state(s, m, l, acts)
		c.loop(m, l, m.Elapsed+s.Since)
	}
	for _, inner := range entered(m) {
		c.memory(s, inner.Memory)
	}
}

type collector struct{ limits []Limit }

func (c *collector) add(l Limit) {
	if l.Most > 0 && (l.Used > 0 || l.Unknown) {
		c.limits = append(c.limits, l)
	}
}

// loop adds what counts in a whole loop.
func (c *collector) loop(m *fsm.Snapshot, l *fsm.Loop, elapsed time.Duration) {
	count := func(name, state string, used, most int, routes bool) {
		c.add(Limit{Name: name, Loop: m.Loop, State: state, Used: float64(used), Most: float64(most), Routes: routes})
	}
	c.add(Limit{Name: "timeout", Loop: m.Loop, Used: elapsed.Seconds(), Most: l.Timeout.Seconds(), seconds: true})
	count("max_steps", "", m.Step, l.MaxSteps, l.OnMaxSteps != "")
	count("max_iterations", "", m.Passes, l.MaxIterations, l.OnMaxIterations != "")
	edge, most := "", 0
	for e, n := range m.Edges.All() {
		if n > most {
			edge, most = e, n
		}
	}
	count("max_edge_revisits", strings.Replace(edge, "->", " -> ", 1), most, l.MaxEdgeRevisits, false)
	if st := l.Stall; st != nil {
		routes := st.OnRepeated != "" && st.OnRepeated != "abort"
		if n := repeated(m.StallRing); n > 1 {
			count("circuit.repeated_failure.window", m.StallRing[len(m.StallRing)-1].State, n, st.Window, routes)
		}
		again := 0
		for _, n := range m.StallCounts {
			again = max(again, n)
		}
		count("circuit.repeated_failure.recurrent_window", "", again, st.RecurrentWindow, routes)
	}
	c.add(Limit{
		Name: "host_guard.max_cumulative_subproc_mb", Loop: m.Loop, Used: m.CumulativeMB,
		Most:   float64(l.HostGuard.BudgetMB),
		Routes: l.HostGuard.OnBudgetExceeded == "route",
	})
	c.budget(m.Loop, "", l.Budget, m.Spent, elapsed, m.Step+m.Spent.Steps, l.OnBudget != "" && !m.BudgetRouted)
}

func (c *collector) budget(loop, state string, b *fsm.Budget, s fsm.Spent, wall time.Duration, steps int, routes bool) {
	if b == nil {
		return
	}
	for _, line := range b.Lines(s, wall, steps) {
		c.add(Limit{
			Name: "budget." + line.Name, Loop: loop, State: state, Used: line.Spent, Most: line.Most,
			Unknown: line.Unknown,
			Routes:  routes, seconds: line.Name == "wall",
		})
	}
}

// state adds what counts in the state that a loop is in. acts reports whether the action in flight is its own.
func (c *collector) state(s Position, m *fsm.Snapshot, l *fsm.Loop, acts bool) {
	st := l.States[m.Current]
	if st == nil {
		return
	}
	if st.Retry != nil {
		c.add(Limit{
			Name: "retry.times", Loop: m.Loop, State: st.Name, Used: float64(m.Tries),
			Most: float64(st.Retry.Times), Routes: true,
		})
	}
	c.add(Limit{
		Name: "max_retries", Loop: m.Loop, State: st.Name, Used: float64(m.Retries[st.Name]),
		Most: float64(st.MaxRetries), Routes: true,
	})
	if th := cmp.Or(st.Throttle, l.Throttle); th != nil {
		c.add(Limit{
			Name: "throttle.hard_max", Loop: m.Loop, State: st.Name, Used: float64(m.Throttles[st.Name]),
			Most:   float64(th.Hard),
			Routes: st.OnThrottleHard != "" || st.On["error"] != "",
		})
	}
	c.add(Limit{
		Name: "rate_limit_max_wait_seconds", Loop: m.Loop, State: st.Name,
		Used: m.RateLimits[st.Name].Waited.Seconds(), Most: st.RateLimitMaxWait.Seconds(),
		Routes: st.OnRateLimitExhausted != "" || st.On["error"] != "", seconds: true,
	})
	spent := m.StateSpent[st.Name]
	c.budget(m.Loop, st.Name, st.Budget, spent, spent.Wall, spent.Steps, st.OnBudget != "")
	if acts && s.Acting > 0 {
		wall, idle := fsm.ActionTimeouts(l, st)
		c.add(Limit{
			Name: "timeout", Loop: m.Loop, State: st.Name, Used: s.Acting.Seconds(), Most: wall.Seconds(),
			Routes: true, seconds: true,
		})
		c.add(Limit{
			Name: "idle_timeout", Loop: m.Loop, State: st.Name, Used: min(s.Silent, s.Acting).Seconds(),
			Most: idle.Seconds(), Routes: true, seconds: true,
		})
	}
}

// repeated is how many of the newest records are the same.
func repeated(ring []fsm.StallRecord) int {
	n := 0
	for i := len(ring) - 1; i >= 0 && ring[i] == ring[len(ring)-1]; i-- {
		n++
	}
	return n
}

// words are the names of limits for people.
var words = map[string]string{
	"max_steps": "step cap", "max_iterations": "pass cap", "max_edge_revisits": "cap on one edge",
	"max_retries": "retries", "retry.times": "retries in this step",
	"throttle.hard_max": "throttle", "circuit.repeated_failure.window": "stall detector",
	"circuit.repeated_failure.recurrent_window": "stall detector, whole run",
	"host_guard.max_cumulative_subproc_mb":      "memory of actions (MB)",
	"rate_limit_max_wait_seconds":               "waits for a rate limit",
	"idle_timeout":                              "silence of the action", "budget.cost_usd": "cost budget",
	"budget.tokens": "token budget",
	"budget.wall":   "time budget",
	"budget.steps":  "step budget", "budget.prompts": "prompt budget",
}

// Title names the limit for people: "step cap", "retries of check". of asks for its loop as well.
func (l Limit) Title(of bool) string {
	name := cmp.Or(words[l.Name], l.Name)
	switch {
	case l.Name == "max_edge_revisits":
		name = "cap on the transition " + l.State
	case l.Name == "timeout" && l.State != "":
		name = "timeout of the action of " + l.State
	case l.State != "":
		name += " of " + l.State
	}
	if of {
		name += " in " + l.Loop
	}
	return name
}

// Amount says how much is used of how much: "12 of 20", "4m05s of 10m00s", "$1.20 of $5.00".
func (l Limit) Amount() string {
	if l.Unknown {
		return "unknown of " + l.number(l.Most)
	}
	return l.number(l.Used) + " of " + l.number(l.Most)
}

func (l Limit) number(v float64) string {
	switch {
	case l.seconds:
		return humanize.Duration(time.Duration(v * float64(time.Second)))
	case l.Name == "budget.cost_usd" && v < 0.01 && v > 0:
		return fmt.Sprintf("$%.4f", v)
	case l.Name == "budget.cost_usd":
		return fmt.Sprintf("$%.2f", v)
	case v >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1fk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}
