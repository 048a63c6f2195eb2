package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/simulate"
)

// largeLoop has so many states, each of which leads on, back and to a failure.
func largeLoop(n int, counters bool) *fsm.Loop {
	l := &fsm.Loop{
		Name: "large", File: "large.yaml", Initial: "s0", States: map[string]*fsm.State{}, MaxSteps: 50,
		MaxEdgeRevisits: 100,
	}
	for i := range n {
		name := fmt.Sprint("s", i)
		st := &fsm.State{
			Name: name, Action: "true", ActionType: "prompt", Evaluate: &fsm.Evaluate{Type: "exit_code"},
			On: map[string]string{
				"yes": fmt.Sprint("s", (i+1)%n), "no": fmt.Sprint("s", (i*7)%n), "error": "failed",
			},
		}
		if counters {
			st.On["no"], st.MaxRetries, st.OnRetryExhausted = fsm.Current, 3, fmt.Sprint("s", (i*7)%n)
			st.Throttle = &fsm.Throttle{Normal: 1, Warn: 2, Hard: 9}
		}
		l.Order, l.States[name] = append(l.Order, name), st
	}
	l.Order = append(l.Order, "failed")
	l.States["failed"] = &fsm.State{Name: "failed", Terminal: true, Failure: true}
	l.Properties = []fsm.Property{
		{Kind: fsm.PropertyNever, State: "s9", Without: "s3"},
		{Kind: fsm.PropertyAlways, State: "s5"},
		{Kind: fsm.PropertyAtMost, State: "s1", Times: 2},
	}
	if counters {
		l.MaxSteps, l.OnMaxSteps = 500, "s9"
	}
	return l
}

// TestProveLarge proves loops of 10,000 states.
func TestProveLarge(t *testing.T) {
	t.Parallel()
	for _, counters := range []bool{false, true} {
		l := largeLoop(10_000, counters)
		begun := time.Now()
		p := simulate.Prove(l, nil)
		t.Logf("counters %v: %v", counters, time.Since(begun))
		if want := map[bool]int64{false: 50, true: 501}[counters]; p.Steps.Most > want || p.Prompts.Most > want {
			t.Errorf("counters %v: %+v %+v", counters, p.Steps, p.Prompts)
		}
		said := slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, "an upper bound") })
		if said != counters { // more runs take 100 edges than can be looked at
			t.Errorf("counters %v: that max_edge_revisits is not followed everywhere is said: %v", counters, said)
		}
	}
}

// TestProveLargeWithBudget proves a loop of 10,000 states, each of which may be tried again and may lead back,
// within a budget: each state is reached, also those that are reached only after more visits than all layers of
// the search may have. It took minutes, and said of a fifth of the states that no run reaches them.
func TestProveLargeWithBudget(t *testing.T) {
	t.Parallel()
	const n = 10_000
	l := largeLoop(n, false)
	l.MaxSteps, l.Budget = 5*n, &fsm.Budget{CostUSD: 5}
	for i, name := range l.Order[:n] {
		st := l.States[name]
		st.On["yes"], st.On["no"] = l.Order[i+1], l.Order[max(i-1, 0)]
		st.MaxRetries, st.OnRetryExhausted = 3, "failed"
	}
	l.Properties = []fsm.Property{
		{Kind: fsm.PropertyNever, State: "s9000", Without: "s8000"},
		{Kind: fsm.PropertyNever, State: "s9000"},
	}
	begun := time.Now()
	p := simulate.Prove(l, nil)
	t.Log(time.Since(begun))
	if len(p.Never) > 0 {
		t.Errorf("%d states are said to be never reached, the first is %s", len(p.Never), p.Never[0])
	}
	if !p.Checked[0].Holds || p.Checked[1].Holds || p.Checked[1].Path.Steps != 9_001 {
		t.Errorf("the properties: %v, and %v after %d steps", p.Checked[0].Holds, p.Checked[1].Holds,
			p.Checked[1].Path.Steps)
	}
}
