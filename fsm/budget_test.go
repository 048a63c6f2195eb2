package fsm_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// spenders answer prompts and judges a second after they were asked, each for 5 cents and 100 tokens.
type spenders struct {
	asked  atomic.Int64
	refuse int64 // so many are refused first, which costs nothing
}

func (s *spenders) Run(ctx context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	if a.Kind == fsm.KindShell {
		return fsm.Result{}, nil
	}
	n := s.asked.Add(1)
	testenv.Pass(time.Second + time.Duration(n)*time.Millisecond)
	if ctx.Err() != nil {
		return fsm.Result{}, ctx.Err()
	}
	cost := 0.05
	r := &fsm.Reply{
		Host: "fake", Model: "m-1", Session: "s", Complete: true, Usage: fsm.Usage{Input: 60, Output: 40},
		Cost: &cost, Answer: value.NewMap("verdict", "yes", "confidence", 1.0, "reason", "it is", "evidence",
			"the output"),
	}
	if n <= s.refuse {
		r.Usage, r.Cost, r.Failure = fsm.Usage{}, nil, fsm.FailAuth
		return fsm.Result{ExitCode: 1, Reply: r}, nil
	}
	r.Session = fmt.Sprint("s", n)
	return fsm.Result{Reply: r}, nil
}

// A budget of one prompt let ten items at once give ten prompts, and the run completed: a budget was looked at,
// and nothing was taken from it before a prompt had ended.
func TestBudgetIsReserved(t *testing.T) {
	t.Parallel()
	const (
		items = "  work: {for_each: [a, b, c, d, e, f, g, h, i, j], parallel: 10, action: 'do ${item.value}', " +
			"action_type: prompt, evaluate: {type: exit_code}, on_yes: done, on_no: done}\n"
		goOn = "  work: {for_each: [a, b, c, d, e, f, g, h, i, j], parallel: 10, on_item_failure: continue, " +
			"action: 'do ${item.value}', action_type: prompt, evaluate: {type: exit_code}, on_yes: done, " +
			"on_partial: done, on_no: done}\n"
		branches = "  work: {parallel: {a: {action: do, action_type: prompt, evaluate: {type: exit_code}}, b: " +
			"{action: do, action_type: prompt, evaluate: {type: exit_code}}, c: {action: do, action_type: prompt, " +
			"evaluate: {type: exit_code}}, d: {action: do, action_type: prompt, evaluate: {type: exit_code}}}, " +
			"on_yes: done, on_no: done}\n"
		judged = "  work: {parallel: {a: {action: do, evaluate: {type: llm_structured, prompt: 'good?'}}, b: " +
			"{action: do, evaluate: {type: llm_structured, prompt: 'good?'}}}, on_yes: done, on_no: done}\n"
		within = "  work: {for_each: [a, b, c, d], parallel: 4, budget: {BUDGET}, action: 'do ${item.value}', " +
			"action_type: prompt, evaluate: {type: exit_code}, on_yes: done, on_no: done}\n"
	)
	for _, c := range []struct {
		name, budget, work string
		refuse, prompts    int64
		ends               string
	}{
		{"one prompt, ten items", "prompts: 1", items, 0, 1, fsm.EndBudget},
		{"three prompts, ten items", "prompts: 3", items, 0, 3, fsm.EndBudget},
		{"as many as there are", "prompts: 10", items, 0, 10, fsm.EndTerminal},
		{"more than there are", "prompts: 11", items, 0, 10, fsm.EndTerminal},
		{"one prompt, four branches", "prompts: 1", branches, 0, 1, fsm.EndBudget},
		{"one question to a judge", "prompts: 1", judged, 0, 1, fsm.EndBudget},
		{"money", "cost_usd: 0.12", items, 0, 3, fsm.EndBudget},
		{"money of branches", "cost_usd: 0.06", branches, 0, 2, fsm.EndBudget},
		{"tokens", "tokens: 250", items, 0, 3, fsm.EndBudget},
		{"of the state", "prompts: 1", within, 0, 1, fsm.EndBudget},
		{"enough money", "cost_usd: 5", items, 0, 10, fsm.EndTerminal},
		{"a refused prompt gives back what it took", "prompts: 9", goOn, 1, 10, fsm.EndTerminal},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				text := "name: spender\nhost_guard: {enabled: false}\ninitial: work\nbudget: {" + c.budget +
					"}\nstates:\n" + strings.ReplaceAll(c.work, "BUDGET", c.budget) + "  done: {terminal: true}\n"
				loop := loadLoop(t, text)
				s := &spenders{refuse: c.refuse}
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Runner, cfg.Verify, cfg.PermanentVerdicts = s, true, true
				got, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if n := s.asked.Load(); n != c.prompts || got.TerminatedBy != c.ends {
					t.Errorf("%d prompts, want %d; ended %+v\n%s", n, c.prompts, got, show(rec.events))
				}
			})
		})
	}
}

// A prompt that waited for the budget began although the run had been paused meanwhile.
func TestPauseBesideABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, "name: spender\nhost_guard: {enabled: false}\ninitial: work\nbudget: {prompts: 1}\n"+
			"states:\n"+
			"  work: {for_each: [a, b], parallel: 2, on_item_failure: continue, action: 'do ${item.value}', "+
			"action_type: prompt, evaluate: {type: exit_code}, on_yes: done, on_partial: done, on_no: done}\n"+
			"  done: {terminal: true}\n")
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		cfg.Runner, cfg.Verify, cfg.PermanentVerdicts = &spenders{refuse: 1}, true, true
		watched(&cfg).pause(500*time.Millisecond, 10*time.Second)
		begun := time.Now()
		if got, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background()); err != nil ||
			got.FinalState != "done" {
			t.Fatal(got, err)
		}
		var starts []time.Duration
		for _, e := range rec.events {
			if e.Kind == fsm.EventActionStart {
				starts = append(starts, e.Time.Sub(begun))
			}
		}
		if len(starts) != 2 || starts[1] < 10*time.Second {
			t.Errorf("prompts began after %v; the pause ended after 10s", starts)
		}
	})
}

// States whose on_budget lead to each other once went round without a step and without an end, and a state that
// on_budget of a state led to was never entered.
func TestOnBudgetLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, loop, ends, final, path string }{
		{
			"each other, by a limit of the loop",
			"initial: a\nbudget: {steps: 1}\nstates:\n  a: {action: x, next: b, on_budget: '${env.b}'}\n" +
				"  b: {action: x, next: a, on_budget: '${env.a}'}\n", fsm.EndMaxSteps, "", "",
		},
		{
			"itself", "initial: a\nbudget: {steps: 1}\nmax_steps: 3\nstates:\n" +
				"  a: {action: x, next: a, on_budget: '${env.a}'}\n",
			fsm.EndMaxSteps, "a", "a a a",
		},
		{"a state", "initial: a\nbudget: {steps: 1}\nstates:\n  a: {action: x, next: b}\n" +
			"  b: {action: x, next: a, on_budget: c}\n  c: {action: x, next: done}\n", fsm.EndTerminal, "done", "a c"},
		{
			"each other, by limits of their own", "initial: a\nstates:\n  a: {loop: l, budget: {steps: 1}, next: b, " +
				"on_budget: '${env.b}'}\n  b: {loop: l, budget: {steps: 1}, next: a, on_budget: '${env.a}'}\n",
			fsm.EndBudget, "b", "a b",
		},
		{
			"a state with a budget of its own",
			"initial: a\nbudget: {steps: 1}\non_budget: c\nstates:\n  a: {action: x, next: a}\n" +
				"  c: {loop: l, budget: {steps: 1}, next: c}\n", fsm.EndBudget, "c", "a c",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			loop, lib := loadLoops(t, "name: outer\n"+c.loop+"  done: {terminal: true}\n",
				"name: l\ninitial: s\nstates:\n  s: {action: x, next: done}\n  done: {terminal: true}\n")
			rec := &tape{}
			cfg, _, _ := config(loop, rec)
			cfg.Runner, cfg.Verify, cfg.Library = &spenders{}, true, lib
			looked := 0
			cfg.Getenv = func(name string) (string, bool) {
				if looked++; looked == 1000 {
					panic("the states lead to each other for ever")
				}
				return name, true
			}
			out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var states []string
			for _, e := range rec.events {
				if e.Kind == fsm.EventStateEnter && e.Depth == 0 {
					states = append(states, fmt.Sprint(e.Get("state")))
				}
			}
			path := strings.Join(states, " ")
			if out.TerminatedBy != c.ends || c.path != "" && (out.FinalState != c.final || path != c.path) {
				t.Errorf("ended by %s in %s after %q, want %s in %s after %q", out.TerminatedBy, out.FinalState, path,
					c.ends, c.final, c.path)
			}
		})
	}
}

// The time of a budget ends what waits inside it, although the loop that waits followed an on_budget of its own.
func TestTimeOfTheBudgetAroundEndsAWait(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]string{
		"wait":  "{wait: {for: 1h}, next: done}",
		"retry": "{action: exit 2, retry: {times: 3, backoff: 1h}, on_yes: done, on_error: done}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t, "name: outer\ninitial: work\nbudget: {wall: 10}\non_budget: late\n"+
					"states:\n  work: {loop: one, next: done, on_error: done}\n  done: {terminal: true}\n"+
					"  late: {terminal: true}\n",
					"name: one\ninitial: a\ntimeout: 3000\nbudget: {steps: 1}\non_budget: rest\nstates:\n"+
						"  a: {action: out a, next: a}\n  rest: "+wait+"\n  done: {terminal: true}\n")
				cfg, _, _ := config(loop, &tape{})
				cfg.Library, cfg.Verify = library, true
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				if took := time.Since(begun).Round(time.Second); err != nil || out.FinalState != "late" ||
					took != 10*time.Second {
					t.Errorf("it ended in %s after %s, want late after 10s: %v", out.FinalState, took, err)
				}
			})
		})
	}
}

// The state that is entered with the last step of a budget has all its tries.
func TestLastStepOfABudgetIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t,
			"name: x\ninitial: a\nbudget: {steps: 1}\nstates:\n  a: {action: exit 2, retry: {times: 2, backoff: "+
				"9s}, on_yes: done, on_error: done}\n  done: {terminal: true}\n")
		cfg, f, _ := config(loop, &tape{})
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil || out.FinalState != "done" || len(f.ran) != 3 {
			t.Errorf("it ended in %s after %d tries, want done after 3: %v", out.FinalState, len(f.ran), err)
		}
	})
}
