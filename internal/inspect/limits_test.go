package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

func states(sts ...*fsm.State) map[string]*fsm.State {
	m := map[string]*fsm.State{}
	for _, st := range sts {
		m[st.Name] = st
	}
	return m
}

// Each case names the limits in the order of how near they are, as a person reads them.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		s     Position
		loops []*fsm.Loop // from outside to inside
		want  string
	}{
		{"nothing is known", Position{Memory: &fsm.Snapshot{Loop: "a", Step: 3}}, nil, ""},
		{"nothing is used", Position{Memory: &fsm.Snapshot{Loop: "a"}}, []*fsm.Loop{{MaxSteps: 5}}, ""},
		{
			"of the loop",
			Position{
				Memory: &fsm.Snapshot{
					Loop: "a", Step: 12, Passes: 1, Elapsed: 3 * time.Minute,
					Edges: value.CountsOf(map[string]int{"x->y": 3, "y->x": 4}),
					Spent: fsm.Spent{CostUSD: 1.2, Prompts: 3, Usage: fsm.Usage{Input: 15_000}},
				},
				Since: time.Minute,
			},
			[]*fsm.Loop{{
				MaxSteps: 20, MaxIterations: 10, Timeout: 10 * time.Minute, MaxEdgeRevisits: 100,
				Budget: &fsm.Budget{CostUSD: 5, Tokens: 2_000_000, Wall: time.Hour},
			}},
			`step cap: 12 of 20
timeout: 4m00s of 10m00s
cost budget: $1.20 of $5.00
pass cap: 1 of 10
time budget: 4m00s of 1h00m00s
cap on the transition y -> x: 4 of 100
token budget: 15.0k of 2.00M`,
		},
		{
			"of the state",
			Position{
				Memory: &fsm.Snapshot{
					Loop: "a", Current: "fix", Retries: map[string]int{"fix": 2, "other": 9},
					Throttles:  map[string]int{"fix": 1},
					RateLimits: map[string]fsm.RateLimit{"fix": {Waited: time.Minute}},
					StateSpent: map[string]fsm.Spent{"fix": {Unpriced: 1}},
				},
				Acting: time.Minute, Silent: 50 * time.Second,
			},
			[]*fsm.Loop{{States: states(&fsm.State{
				Name: "fix", Action: "x", MaxRetries: 3, Throttle: &fsm.Throttle{Hard: 4},
				RateLimitMaxWait: time.Hour, Timeout: 2 * time.Minute,
				Idle: time.Minute, Budget: &fsm.Budget{CostUSD: 2},
			})}},
			`silence of the action of fix: 50s of 1m00s
retries of fix: 2 of 3
timeout of the action of fix: 1m00s of 2m00s
throttle of fix: 1 of 4
waits for a rate limit of fix: 1m00s of 1h00m00s
cost budget of fix: unknown of $2.00`,
		},
		{
			"of detectors and memory",
			Position{
				Memory: &fsm.Snapshot{
					Loop: "a", StallRing: []fsm.StallRecord{{State: "y"}, {State: "x"}, {State: "x"}},
					StallCounts: map[string]int{"k": 1, "l": 4}, CumulativeMB: 10,
				},
			},
			[]*fsm.Loop{{Stall: &fsm.Stall{Window: 3, RecurrentWindow: 5}, HostGuard: fsm.HostGuard{BudgetMB: 100}}},
			`stall detector, whole run: 4 of 5
stall detector of x: 2 of 3
memory of actions (MB): 10 of 100`,
		},
		{
			"of a sub-loop, whose action it is",
			Position{
				Memory: &fsm.Snapshot{
					Loop: "out", Current: "sub", Step: 1,
					Child: &fsm.Child{Memory: &fsm.Snapshot{Loop: "in", Current: "a", Step: 9}},
				},
				Acting: time.Second,
			},
			[]*fsm.Loop{
				{MaxSteps: 50, States: states(&fsm.State{Name: "sub", Loop: "in", Timeout: time.Second})},
				{MaxSteps: 10, States: states(&fsm.State{Name: "a", Action: "x", Timeout: 100 * time.Second})},
			},
			`step cap in in: 9 of 10
step cap: 1 of 50
timeout of the action of a in in: 1.0s of 1m40s`,
		},
		{
			"of a sub-loop that was not entered",
			Position{
				Memory: &fsm.Snapshot{Loop: "out", Step: 1, Child: &fsm.Child{Memory: &fsm.Snapshot{Loop: "in"}}},
			},
			[]*fsm.Loop{{MaxSteps: 2}, {MaxSteps: 10}},
			"step cap: 1 of 2",
		},
		{
			"of the loops of two branches",
			Position{
				Memory: &fsm.Snapshot{Loop: "out", Current: "both", Step: 1, Branches: []*fsm.BranchMemory{
					{Name: "x", Child: &fsm.Child{
						Name:   "in",
						Memory: &fsm.Snapshot{Loop: "in", Current: "a", Step: 9},
					}},
					{Name: "y", End: value.NewMap("verdict", "yes")},
					{Name: "z", Child: &fsm.Child{
						Name:   "z",
						Memory: &fsm.Snapshot{Loop: "out", Current: "z", Step: 1},
					}},
				}},
			},
			[]*fsm.Loop{{MaxSteps: 50}, {MaxSteps: 10}},
			"step cap in in: 9 of 10\nstep cap: 1 of 50",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			c.s.Loops = LoopsByMemory{}
			assign(c.s.Loops, c.s.Memory, c.loops)
			for _, l := range c.s.Limits() {
				got = append(got, fmt.Sprint(l.Title(l.Loop != c.s.Memory.Loop), ": ", l.Amount()))
			}
			if g := strings.Join(got, "\n"); g != c.want {
				t.Errorf("got\n%s\nwant\n%s", g, c.want)
			}
		})
	}
}

// assign gives the loops to a memory and to those inside it, but for branches with an action.
func assign(to LoopsByMemory, m *fsm.Snapshot, loops []*fsm.Loop) []*fsm.Loop {
	if len(loops) == 0 {
		return nil
	}
	to[m], loops = loops[0], loops[1:]
	for name, c := range m.Inside() {
		if !c.Inline(name, m) {
			loops = assign(to, c.Memory, loops)
		}
	}
	return loops
}
