package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"loops/fsm"
	"loops/internal/testenv"
)

// budgeted gives a random loop budgets of steps and prompts, for itself and for states, and says where they lead.
func budgeted(r *rand.Rand, l *fsm.Loop) {
	any := func() string { return l.Order[r.IntN(len(l.Order))] }
	draw := func() (b *fsm.Budget) {
		switch r.IntN(4) {
		case 0:
			b = &fsm.Budget{Steps: 1 + r.IntN(4)}
		case 1:
			b = &fsm.Budget{Prompts: 1 + r.IntN(3)}
		case 2:
			b = &fsm.Budget{Steps: 1 + r.IntN(4), Prompts: 1 + r.IntN(3)}
		}
		return b
	}
	if l.Budget = draw(); r.IntN(2) == 0 {
		l.OnBudget = any()
	}
	for _, name := range l.Order {
		st := l.States[name]
		if st.Terminal {
			continue
		}
		if r.IntN(3) == 0 {
			st.Budget = &fsm.Budget{Prompts: 1 + r.IntN(2)}
		}
		if r.IntN(3) == 0 {
			st.OnBudget = any()
		}
	}
}

// TestProofOfBudgets compares where random loops can reach their budgets with all runs that they can have:
// whether a budget ends a run, by which shortest path, which states only on_budget leads to, and which properties hold.
func TestProofOfBudgets(t *testing.T) {
	t.Parallel()
	ends := 0
	for seed := range testenv.Some(1000, 10_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 42)) //nolint:gosec // it is to be repeatable
		l := randomLoop(r, false)
		budgeted(r, l)
		randomProperties(r, l)
		broken := make([]bool, len(l.Properties))
		p := (&prover{known: map[string]*Proof{}, open: map[string]bool{}, strict: true}).prove(l)
		shortest, entered := -1, map[string]bool{}
		if !allWalks(t, l, func(w walked) {
			for _, name := range w.states(l) {
				entered[name] = true
			}
			for i, p := range l.Properties {
				broken[i] = broken[i] || !kept(p, l, w)
			}
			if n := len(w.entered); w.outcome.TerminatedBy == fsm.EndBudget && (shortest < 0 || n < shortest) {
				shortest = n
			}
		}) {
			continue
		}
		told := -1
		if i := slices.IndexFunc(p.Ends, func(e ProofPath) bool { return e.End == fsm.EndBudget }); i >= 0 {
			told = p.Ends[i].Steps
		}
		if told != shortest {
			t.Errorf("machine %d: a budget ends a run after %d steps, and the proof says after %d\n%s", seed,
				shortest, told, shownLoop(l))
		}
		for _, name := range l.Order {
			if never := slices.Contains(p.Never, name); never == entered[name] {
				t.Errorf("machine %d: that %s is never reached is %v\n%s", seed, name, never, shownLoop(l))
			}
		}
		for i, c := range p.Checked {
			if c.Unknown || c.Holds == broken[i] {
				t.Errorf("machine %d: %s: the proof says that it holds: %v (unknown: %v), and it is broken: %v\n%s",
					seed, c.Property, c.Holds, c.Unknown, broken[i], shownLoop(l))
			}
		}
		if shortest >= 0 {
			ends++
		}
	}
	if ends < 20 {
		t.Errorf("budgets ended runs of %d loops: the test tries too little", ends)
	}
}
