package simulate

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// randomLoop makes a loop of at most six states, one of them terminal. With counters it has limits of states and edges,
// too.
func randomLoop(r *rand.Rand, counters bool) *fsm.Loop {
	n := 1 + r.IntN(5)
	l := &fsm.Loop{
		Name: "random", File: "random.yaml", Initial: "a", States: map[string]*fsm.State{},
		MaxSteps: 1 + r.IntN(6), MaxEdgeRevisits: 100,
	}
	for i := range n {
		l.Order = append(l.Order, string(rune('a'+i)))
	}
	l.Order = append(l.Order, "end")
	if r.IntN(2) == 0 {
		l.Order = append(l.Order, "bad")
		l.States["bad"] = &fsm.State{Name: "bad", Terminal: true, Failure: true}
	}
	l.States["end"] = &fsm.State{Name: "end", Terminal: true}
	any := func() string { return l.Order[r.IntN(len(l.Order))] }
	for _, name := range l.Order[:n] {
		st := &fsm.State{
			Name: name, Action: "true", ActionType: "shell", On: map[string]string{},
			Evaluate: &fsm.Evaluate{Type: "exit_code"},
		}
		if r.IntN(3) == 0 {
			st.ActionType = "prompt"
		}
		l.States[name] = st
		if r.IntN(4) == 0 {
			st.Next, st.Evaluate = any(), nil
			if r.IntN(2) == 0 {
				st.On["error"] = any()
			}
		} else {
			st.On["yes"] = any()
			for _, verdict := range []string{"no", "error"} {
				if r.IntN(2) == 0 {
					st.On[verdict] = any()
				}
			}
			if r.IntN(4) == 0 {
				st.On["no"] = fsm.Current
			}
		}
		if counters && r.IntN(3) == 0 {
			st.MaxRetries, st.OnRetryExhausted = 1+r.IntN(2), any()
		}
		if counters && r.IntN(5) == 0 {
			st.Throttle = &fsm.Throttle{Normal: 1, Warn: 1, Hard: 1 + r.IntN(3)}
			if r.IntN(2) == 0 {
				st.OnThrottleHard = any()
			}
		}
		if counters && r.IntN(6) == 0 {
			st.Retry = &fsm.Retry{Times: 1, On: []string{"error"}}
		}
	}
	if counters && r.IntN(2) == 0 {
		l.MaxEdgeRevisits = 1 + r.IntN(3)
	}
	if r.IntN(3) == 0 {
		l.OnMaxSteps = any()
	}
	if counters && r.IntN(4) == 0 {
		l.Maintain, l.MaxIterations = true, 1+r.IntN(2)
	}
	if counters && r.IntN(5) == 0 {
		l.Budget = &fsm.Budget{Steps: 1 + r.IntN(4), Prompts: 1 + r.IntN(3)}
		if r.IntN(2) == 0 {
			l.OnBudget = any()
		}
	}
	return l
}

// branching are replies that are all tried one after the other: which one comes is a digit of a number.
type branching struct {
	digits, sizes []int
	used          int
}

func (b *branching) next(st *fsm.State) (reply, error) {
	words := []string{"yes", "no", "error"}
	if st.Next != "" {
		words = []string{"yes", "error"}
	}
	if b.used == len(b.digits) {
		b.digits, b.sizes = append(b.digits, 0), append(b.sizes, len(words))
	}
	word := words[b.digits[b.used]]
	b.used++
	return reply{codeFor(st, word), word}, nil
}

func (b *branching) rest() error { return nil }

// advance goes to the next number, and reports false after the last one.
func (b *branching) advance() bool {
	b.digits, b.sizes = b.digits[:b.used], b.sizes[:b.used]
	for b.used = 0; len(b.digits) > 0; b.digits, b.sizes = b.digits[:len(b.digits)-1], b.sizes[:len(b.sizes)-1] {
		i := len(b.digits) - 1
		if b.digits[i]++; b.digits[i] < b.sizes[i] {
			return true
		}
	}
	return false
}

// A walked is one run of a loop.
type walked struct {
	entered []string
	prompts int
	outcome fsm.Outcome
}

// states are the states that it entered, its terminal state among them.
func (w walked) states(l *fsm.Loop) []string {
	if w.outcome.TerminatedBy == fsm.EndTerminal {
		return append(slices.Clone(w.entered), w.outcome.FinalState)
	}
	return w.entered
}

func walkOnce(t *testing.T, l *fsm.Loop, replies Replies) walked {
	t.Helper()
	var w walked
	o, err := Simulate(context.Background(), Simulation{
		Loop: l, Values: value.NewMap(), Files: noneOf{}, Replies: replies, Observe: func(e fsm.Event) {
			if name := enteredBy(e); name != "" {
				w.entered = append(w.entered, name)
			}
			switch e.Kind {
			case fsm.EventActionStart:
				if e.Get("is_prompt") == true {
					w.prompts++
				}
			}
		},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, shownLoop(l))
	}
	w.outcome = o
	return w
}

type noneOf struct{ fsm.Files }

func (noneOf) Stat(string) (time.Time, int64, error) { return time.Time{}, 0, fmt.Errorf("none") }

// allWalks calls f with each run of a loop. It reports false if there are too many.
func allWalks(t *testing.T, l *fsm.Loop, f func(walked)) bool {
	t.Helper()
	b := &branching{}
	for range 1500 {
		f(walkOnce(t, l, b))
		if !b.advance() {
			return true
		}
	}
	return false
}

func shownLoop(l *fsm.Loop) string {
	var b strings.Builder
	fmt.Fprintf(&b, "max_steps %d on %q edges %d budget %+v on %q maintain %v %d\n", l.MaxSteps, l.OnMaxSteps,
		l.MaxEdgeRevisits, l.Budget, l.OnBudget, l.Maintain, l.MaxIterations)
	for _, name := range l.Order {
		st := l.States[name]
		fmt.Fprintf(&b, "  %s %s terminal %v next %q budget %+v %q on %v retries %d %q throttle %+v %q retry %+v\n",
			name, st.ActionType, st.Terminal, st.Next, st.Budget, st.OnBudget, st.On, st.MaxRetries,
			st.OnRetryExhausted, st.Throttle, st.OnThrottleHard, st.Retry)
	}
	return b.String()
}

// TestProofAgainstAllRuns compares what is proven of random loops with all runs that they can have: bounds are never
// below, and equal where no counter but max_steps holds; what is reached and the shortest paths are the same.
func TestProofAgainstAllRuns(t *testing.T) {
	t.Parallel()
	for seed := range testenv.Some(200, 10_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 40)) //nolint:gosec // it is to be repeatable
		l := randomLoop(r, seed%2 == 1)
		compareProof(t, seed, l)
	}
}

// kept reports whether a run that ended has a property, and whether its end counts.
func kept(p fsm.Property, l *fsm.Loop, w walked) bool {
	entered := w.states(l)
	first, times := slices.Index(entered, p.State), 0
	for _, name := range entered {
		if name == p.State {
			times++
		}
	}
	switch p.Kind {
	case fsm.PropertyAlways:
		return first >= 0 || w.outcome.TerminatedBy == fsm.EndBudget
	case fsm.PropertyAtMost:
		return times <= p.Times
	}
	before := slices.Index(entered, p.Without)
	return first < 0 || before >= 0 && before < first
}

// randomProperties gives a loop four properties.
func randomProperties(r *rand.Rand, l *fsm.Loop) {
	for range 4 {
		x, y := l.Order[r.IntN(len(l.Order))], l.Order[r.IntN(len(l.Order))]
		switch r.IntN(4) {
		case 0:
			l.Properties = append(l.Properties, fsm.Property{Kind: fsm.PropertyAlways, State: x})
		case 1:
			l.Properties = append(l.Properties, fsm.Property{Kind: fsm.PropertyAtMost, State: x, Times: 1 + r.IntN(3)})
		case 2:
			l.Properties = append(l.Properties, fsm.Property{Kind: fsm.PropertyNever, State: x})
		default:
			if x != y {
				l.Properties = append(l.Properties, fsm.Property{Kind: fsm.PropertyNever, State: x, Without: y})
			}
		}
	}
}

func compareProof(t *testing.T, seed int, l *fsm.Loop) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 41)) //nolint:gosec // it is to be repeatable
	randomProperties(r, l)
	broken := make([]bool, len(l.Properties))
	p := (&prover{known: map[string]*Proof{}, open: map[string]bool{}, strict: true}).prove(l)
	steps, prompts := 0, 0
	entered := map[string]bool{}
	shortest := map[string]int{}
	all := allWalks(t, l, func(w walked) {
		steps, prompts = max(steps, len(w.entered)), max(prompts, w.prompts)
		for _, name := range w.states(l) {
			entered[name] = true
		}
		for i, p := range l.Properties {
			broken[i] = broken[i] || !kept(p, l, w)
		}
		if w.outcome.TerminatedBy == fsm.EndTerminal {
			if n, ok := shortest[w.outcome.FinalState]; !ok || len(w.entered) < n {
				shortest[w.outcome.FinalState] = len(w.entered)
			}
		}
	})
	fail := func(format string, args ...any) {
		t.Errorf("machine %d: %s\n%s", seed, fmt.Sprintf(format, args...), shownLoop(l))
	}
	if int64(steps) > p.Steps.Most || int64(prompts) > p.Prompts.Most {
		fail("a run takes %d steps and %d prompts, and the bounds are %+v and %+v", steps, prompts, p.Steps, p.Prompts)
	}
	if !all {
		return
	}
	if p.Steps.Exact && int64(steps) != p.Steps.Most || p.Prompts.Exact && int64(prompts) != p.Prompts.Most {
		fail("at most %d steps and %d prompts are taken, and the exact bounds are %+v and %+v", steps, prompts,
			p.Steps, p.Prompts)
	}
	if seed%2 == 0 && !p.Steps.Exact {
		fail("the bound without counters is not exact: %+v", p.Steps)
	}
	never := map[string]bool{}
	for _, name := range p.Never {
		never[name] = true
		if entered[name] {
			fail("a run enters %s, which is never reached", name)
		}
	}
	loose, tries := false, false
	for _, st := range l.States { // how many tries a visit has is not followed
		tries = tries || st.Retry != nil
		loose = loose || st.Throttle != nil && st.Retry != nil
	}
	for name := range maps.Keys(l.States) {
		if !loose && !never[name] && !entered[name] {
			fail("no run enters %s", name)
		}
	}
	for i, c := range p.Checked {
		if broken[i] && c.Holds || !broken[i] && !c.Holds && !loose {
			fail("%s: the proof says that it holds: %v, and it is broken: %v", c.Property, c.Holds, broken[i])
		}
		if c.Holds || loose {
			continue
		}
		lines, ok := p.Scenario(i, func(replies Replies, observe func(fsm.Event)) (fsm.Outcome, error) {
			return Simulate(context.Background(),
				Simulation{Loop: l, Values: value.NewMap(), Files: noneOf{}, Replies: replies, Observe: observe})
		})
		// it ends each run before a verdict, or by the prompts of retries
		if l.Budget != nil && (len(lines) == 0 || tries) {
			continue
		}
		if !ok {
			fail("%s: no script breaks it: %v %v", c.Property, c.Path, lines)
			continue
		}
		script, wrong := ParseScript(strings.Join(lines, "\n"), []*fsm.Loop{l})
		if len(wrong) > 0 {
			fail("%s: %v", c.Property, wrong)
		} else if w := walkOnce(t, l, script.Replies()); kept(c.Property, l, w) {
			fail("%s: the script does not break it: %q comes to %v", c.Property, lines, w.states(l))
		}
	}
	for _, e := range p.Ends {
		if e.End != fsm.EndTerminal {
			continue
		}
		name := e.States[len(e.States)-1]
		if n, ok := shortest[name]; !loose && (!ok || n != e.Steps) {
			fail("the shortest path to %s has %d steps, and the proof says %d: %v", name, n, e.Steps, e.States)
		}
	}
}
