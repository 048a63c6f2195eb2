package fsm_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

var (
	ledgers    = flag.Int("ledgers", 60, "runs whose costs are compared with what their agent was paid")
	ledgerFrom = flag.Int("ledger-from", 0, "the seed of the first of them")
)

// payments is an agent that notes what it is paid, including what is never recorded.
type payments struct {
	mu    sync.Mutex
	rand  *rand.Rand
	whole bool // no answer is cut off
	paid  float64
}

func (l *payments) HostFor(string) (string, bool)     { return "stub", true }
func (l *payments) KeepsCost(string) bool             { return true }
func (l *payments) Remedy(string, fsm.Failure) string { return "" }

func (l *payments) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	usd := float64(1+l.rand.IntN(99)) / 100
	if a.MaxCost > 0 {
		usd = min(usd, a.MaxCost)
	}
	l.paid += usd
	res := fsm.Result{Stdout: "did it", Reply: &fsm.Reply{
		Host: "stub", Model: "m", Complete: true, Coverage: fsm.CoverageComplete, Usage: fsm.Usage{Input: 10},
		Cost: &usd, Priced: "stub",
	}}
	if a.Kind == fsm.KindJudge {
		res.Reply.Text = `{"verdict": "yes", "confidence": 1, "reason": "fine", "evidence": "did it"}`
	}
	switch odd := l.rand.IntN(6); {
	case l.whole:
	case odd == 2: // it was cut off after it had said a part of it
		part := usd / 2
		res.ExitCode, res.Reply = 1,
			&fsm.Reply{
				Host: "stub", Coverage: fsm.CoveragePartial, Failure: fsm.FailTruncated, Reason: "cut off",
				Usage: fsm.Usage{Input: 5}, Cost: &part,
			}
	case odd == 0: // the stream was cut off before the agent said what it used
		res.ExitCode, res.Reply = 1,
			&fsm.Reply{Host: "stub", Coverage: fsm.CoveragePartial, Failure: fsm.FailTruncated, Reason: "cut off"}
	case odd == 1:
		res.ExitCode, res.Reply.Failure, res.Reply.Reason = 1, fsm.FailOther, "it failed, and is paid all the same"
	}
	return res, nil
}

const ledgerLoop = `name: spends
initial: one
host_guard: {enabled: false}
%s
states:
  one: {action: ask, action_type: prompt, next: both}
  both:
    parallel:
      left: {action: ask, action_type: prompt, evaluate: {type: exit_code}}
      right: {action: ask, action_type: prompt, evaluate: {type: exit_code}}
    on_branch_failure: continue
    on_yes: three
    on_no: three
    on_error: three
  three: {action: ask, action_type: prompt, evaluate: {type: llm_structured}, on_yes: four, on_no: four, on_error: four}
  four: {action: ask, action_type: prompt, next: done}
  done: {terminal: true}
`

// TestCostsEqualTheLedger: what runs cost, by their events, is what their agent was paid, or it is said of some prompts
// that it is not known, and the sum is no more than what was paid. Runners are killed, and streams are cut off.
func TestCostsEqualTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loops := []*fsm.Loop{
			loadLoop(t, fmt.Sprintf(ledgerLoop, "")),
			loadLoop(t, fmt.Sprintf(ledgerLoop, "budget: {cost_usd: 10, allow_unknown_cost: true}")),
		}
		exact, unknown, bounded := 0, 0, 0
		for seed := *ledgerFrom; seed < *ledgerFrom+*ledgers; seed++ {
			loop := loops[seed%2]
			random := rand.New(rand.NewPCG(uint64(seed), 41))
			stub := &payments{rand: random, whole: seed%10 == 0}
			rec := &tape{die: random.IntN(30)}
			if stub.whole {
				rec.die = 0
			}
			cfg, _, _ := config(loop, rec)
			cfg.Runner, cfg.Agents = stub, stub
			run := fsm.Start(cfg, loop.Context.Clone(), time.Now())
			_, err := run.Run(context.Background())
			for kills := 0; errors.Is(err, errDied) && kills < 5; kills++ {
				if len(rec.saved) == 0 { // it was never on record
					break
				}
				if rec.die = 0; random.IntN(2) == 0 {
					rec.die = rec.count + 1 + random.IntN(10)
				}
				_, err = fsm.Resume(cfg, clone(rec.last())).Run(context.Background())
			}
			if len(rec.saved) == 0 {
				continue
			}
			if errors.Is(err, errDied) {
				sameCosts(t, seed, rec, stub.paid, false)
			}
			if err != nil && !errors.Is(err, errDied) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			rec.die = 0
			if errors.Is(err, errDied) {
				if _, err = fsm.Resume(cfg, clone(rec.last())).Run(context.Background()); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			var sheet inspect.CostSheet
			for _, e := range rec.events {
				sheet.Add(e)
			}
			sameCosts(t, seed, rec, stub.paid, true)
			what := fmt.Sprintf("seed %d: $%.2f and %d unknown, and $%.2f was paid", seed, sheet.Total.CostUSD,
				sheet.Total.Unknown, stub.paid)
			most, known := sheet.Total.Most()
			if known && stub.paid > most+1e-9 || !known && seed%2 == 1 {
				t.Errorf("%s; at most $%.2f: %v", what, most, known)
			}
			if known && sheet.Total.Unknown > 0 {
				bounded++
			}
			switch same := math.Abs(sheet.Total.CostUSD-stub.paid) < 1e-9; {
			case sheet.Total.Unknown == 0 && !same, sheet.Total.CostUSD > stub.paid+1e-9:
				t.Error(what)
			case same:
				exact++
			default:
				unknown++
			}
		}
		if exact < *ledgers/20 || unknown < *ledgers/20 || bounded < *ledgers/20 {
			t.Errorf("%d runs were exact, %d had unknown costs, and of %d these had a bound: the test "+
				"tries too little", exact, unknown, bounded)
		}
	})
}

// sameCosts compares what the events of a run say of its costs with what its memory says.
func sameCosts(t *testing.T, seed int, rec *tape, paid float64, alive bool) {
	t.Helper()
	var sheet inspect.CostSheet
	for _, e := range rec.events {
		sheet.Add(e)
	}
	sheet.Close(alive)
	byMemory := inspect.SpentCost(rec.last(), alive)
	if !alive {
		sheet.Complete(rec.last())
	}
	most, known := sheet.Total.Most()
	same, is := byMemory.Most()
	if !alive && (paid > most+1e-9 && known || sheet.Total.CostUSD > paid+1e-9 || sheet.Total.Unknown == 0 &&
		math.Abs(sheet.Total.CostUSD-paid) > 1e-9) {
		t.Errorf("seed %d, which died: by its events the run cost %s, with %d unknown, and $%.2f was paid", seed,
			sheet.Total.Text(), sheet.Total.Unknown, paid)
	}
	if math.Abs(byMemory.CostUSD-sheet.Total.CostUSD) > 1e-9 || byMemory.Unknown != sheet.Total.Unknown ||
		is != known || known && math.Abs(most-same) > 1e-6 {
		t.Errorf("seed %d, alive %v: by its events the run cost %s, with %d unknown, and by its memory %s, with %d",
			seed, alive, sheet.Total.Text(), sheet.Total.Unknown, byMemory.Text(), byMemory.Unknown)
	}
}
