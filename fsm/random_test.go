package fsm_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// randomLoop makes a loop that always ends, with every kind of transition the machine knows. Its actions depend
// on the step only, so that a resumed run meets the same results.
func randomLoop(r *rand.Rand, children ...string) *fsm.Loop {
	n := 2 + r.IntN(5)
	name := func() string { return fmt.Sprintf("s%d", r.IntN(n)) }
	target := func() string {
		switch r.IntN(12) {
		case 0:
			return "done"
		case 1:
			return fsm.Current
		case 2:
			return "${context.back}"
		}
		return name()
	}
	maybe := func(p float64, s func() string) string {
		if r.Float64() < p {
			return s()
		}
		return ""
	}
	l := &fsm.Loop{
		Name: "random", Initial: "s0", States: make(map[string]*fsm.State),
		Context:  value.NewMap("back", "s0", "n", int64(3)),
		MaxSteps: 5 + r.IntN(25), MaxEdgeRevisits: 2 + r.IntN(8), InputKey: "input", LLM: fsm.LLM{Enabled: true},
		Maintain: r.IntN(5) == 0, OnMaxSteps: maybe(0.3, name),
	}
	if r.IntN(4) == 0 {
		l.MaxIterations, l.OnMaxIterations = 1+r.IntN(3), maybe(0.5, name)
	}
	if r.IntN(3) == 0 {
		l.Stall = &fsm.Stall{Window: 2 + r.IntN(3), OnRepeated: maybe(0.5, name), RecurrentWindow: r.IntN(4)}
		if l.Stall.OnRepeated == "" {
			l.Stall.OnRepeated = "abort"
		}
	}
	words := []string{
		"out word", "exit 1", "exit 2", "exit -9", "out LOOP", "err e", "fail nothing", "timeout",
		"out ${context.n}", "out ${prev.output?}", "out ${captured.c.output}",
	}
	for i := range n {
		st := &fsm.State{Name: fmt.Sprintf("s%d", i), On: make(map[string]string)}
		if r.IntN(5) > 0 {
			for step := range l.MaxSteps + 3 {
				if r.IntN(2) == 0 {
					st.Action += fmt.Sprintf("step %d: %s; ", step, words[r.IntN(len(words))])
				}
			}
			st.Action += words[r.IntN(len(words))]
		}
		st.Capture = maybe(0.4, func() string { return "c" })
		st.Append = maybe(0.2, func() string { return "${state.name} ${state.iteration}" })
		if r.IntN(3) == 0 {
			st.Next = target()
		}
		for _, v := range []string{"yes", "no", "error", "word", "partial"} {
			if r.IntN(3) > 0 {
				st.On[v] = target()
			}
		}
		switch r.IntN(6) {
		case 0:
			e := fsm.DefaultEvaluate("classify")
			st.Evaluate = &e
			st.Route = &fsm.Route{
				Table: value.NewMap("word", target()), Default: maybe(0.5, target),
				Error: maybe(0.7, target),
			}
		case 1:
			e := fsm.DefaultEvaluate("action_stall")
			e.Track = []string{"context.n", "prev.output"}
			st.Evaluate = &e
		case 2:
			e := fsm.DefaultEvaluate("output_contains")
			e.Pattern = "w.rd"
			st.Evaluate = &e
		case 3:
			e := fsm.DefaultEvaluate("diff_stall")
			st.Evaluate = &e
		}
		if r.IntN(4) == 0 {
			st.MaxRetries, st.OnRetryExhausted = 1+r.IntN(3), target()
		}
		if r.IntN(6) == 0 {
			st.Throttle = &fsm.Throttle{Normal: 1, Warn: 2, Hard: 3}
			st.OnThrottleHard = maybe(0.5, target)
		}
		if len(children) > 0 && r.IntN(3) == 0 {
			st.Loop, st.Action, st.Evaluate, st.Capture = children[r.IntN(len(children))], "", nil,
				maybe(0.3, func() string { return "log" })
			switch r.IntN(3) {
			case 0:
				st.With = value.NewMap("n", "${context.n}", "more", "${state.name}")
			case 1:
				st.Passthrough = true
			}
			if r.IntN(2) == 0 {
				st.On["timeout"] = target()
			}
		}
		if r.IntN(6) == 0 {
			st.Fragment = &fsm.Fragment{
				Name: "f", Bindings: value.NewMap("p", "${prev.exit_code?}"),
				Parameters: []fsm.Parameter{{Name: "q", Type: "integer", Default: int64(3)}},
			}
			if st.Action != "" {
				st.Action += "; out ${param.p} ${param.q}"
			}
		}
		l.States[st.Name] = st
	}
	l.States["done"] = &fsm.State{Name: "done", Terminal: true, Failure: r.IntN(3) == 0}
	return l
}

var (
	machines = flag.Uint64("machines", 40, "random loops of TestRandomMachines")
	seed     = flag.Uint64("seed", 1, "what the random loops of TestRandomMachines are made from")
)

// TestRandomMachines lets random loops run: each ends in exactly one outcome, and losing the process at any
// batch and resuming gives the same end.
func TestRandomMachines(t *testing.T) {
	t.Parallel()
	ends := make(map[string]int)
	for i := range *machines {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed, i))
			loops := shelf{"leaf": randomLoop(r), "mid": randomLoop(r, "leaf", "none")}
			loop := randomLoop(r, "leaf", "mid")
			loops["leaf"].Parameters = []fsm.Parameter{{Name: "n", Type: "integer", Default: int64(5)}}
			whole := &tape{}
			cfg, unbroken, _ := config(loop, whole)
			cfg.Library = loops
			want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			ends[want.TerminatedBy]++
			complete := 0
			for _, e := range whole.events {
				if e.Kind == "loop_complete" && e.Depth == 0 {
					complete++
				}
			}
			if last := whole.events[len(whole.events)-1]; complete != 1 || last.Kind != "loop_complete" {
				t.Fatalf("machine %d: %d loop_complete events, the last event is %s", i, complete, last.Kind)
			}
			// Of the long ones with many sub-loops, some dozens of moments.
			stride := 1 + whole.count/40
			for die := 1 + r.IntN(stride); die <= whole.count; die += stride {
				lost(t, loop, loops, die, die%2 == 0, want, whole, unbroken.ran)
			}
			if t.Failed() {
				t.Fatalf("machine %d of seed %d", i, *seed)
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("ends: %v", ends)
	if len(ends) < 5 {
		t.Errorf("the machines are too much alike, they end by %v only", ends)
	}
}
