package fsm_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// A slowAgent answers each prompt after a time, unless it is ended before.
type slowAgent struct {
	took  time.Duration
	asked int
	ended int
}

func (a *slowAgent) Run(ctx context.Context, do fsm.Action, _ func(string)) (fsm.Result, error) {
	if do.Kind == fsm.KindShell {
		return fsm.Result{Stdout: "a"}, nil
	}
	a.asked++
	began, cost := time.Now(), 0.5
	select {
	case <-time.After(a.took):
	case <-ctx.Done():
		a.ended++
	}
	return fsm.Result{
		Duration: time.Since(began),
		Reply:    &fsm.Reply{Host: "quill", Cost: &cost, Usage: fsm.Usage{Input: 7}, Coverage: fsm.CoverageComplete},
	}, nil
}

// The time of a budget ends the prompt or the judge that is running; what it used counts, and the run can be resumed.
func TestTimeOfABudgetEndsAPrompt(t *testing.T) {
	t.Parallel()
	const prompt = "{action_type: prompt, action: work, next: done}\n"
	for name, c := range map[string]struct {
		head, states, final, ends string
		took                      time.Duration
		asked                     int
	}{
		"of the loop": {"budget: {wall: 10}\n", "  a: " + prompt, "a", fsm.EndBudget, 10 * time.Second, 1},
		"with a route": {
			"budget: {wall: 10}\non_budget: late\n", "  a: " + prompt, "late", fsm.EndTerminal, 10 * time.Second, 1,
		},
		"of the state": {
			"", "  a: {action_type: prompt, action: work, next: done, budget: {wall: 10}}\n", "a", fsm.EndBudget,
			10 * time.Second, 1,
		},
		"of all visits to the state": {
			"", "  a: {action_type: prompt, action: work, next: a, budget: {wall: 70}}\n", "a", fsm.EndBudget,
			70 * time.Second, 3,
		},
		"of a judge": {
			"budget: {wall: 10}\n", "  a: {action: out a, evaluate: {type: llm_structured, prompt: good}, " +
				"on_yes: done, on_error: done}\n", "a", fsm.EndBudget, 10 * time.Second, 1,
		},
		"that is enough": {
			"budget: {wall: 31}\n", "  a: " + prompt, "done", fsm.EndTerminal, 30 * time.Second, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, "name: x\ninitial: a\n"+c.head+"states:\n"+c.states+
					"  late: {terminal: true}\n  done: {terminal: true}\n")
				rec, slow := &tape{}, &slowAgent{took: 30 * time.Second}
				cfg, _, _ := config(loop, rec)
				cfg.Runner = slow
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				took := time.Since(begun)
				if err != nil || out.FinalState != c.final || out.TerminatedBy != c.ends || slow.asked != c.asked ||
					took < c.took || took > c.took+time.Second {
					t.Fatalf("it ended in %s by %s (%s) after %s and %d prompts: %v", out.FinalState,
						out.TerminatedBy, out.Error, took, slow.asked, err)
				}
				if out.TerminatedBy != fsm.EndBudget {
					return
				}
				m := clone(rec.saved[len(rec.saved)-1])
				if !strings.Contains(out.Error, "the agent at work was ended") ||
					m.Spent.CostUSD != 0.5*float64(c.asked) {
					t.Errorf("the reason is %q, and it cost %v", out.Error, m.Spent.CostUSD)
				}
				cfg.Loop = fsm.Raise{Time: time.Hour}.Apply(loop)
				cfg.Loop.States["a"].Budget = nil
				slow.took = time.Second
				if c.asked > 1 {
					cfg.Loop.States["a"].Next = "done"
				}
				out, err = fsm.Resume(cfg, m).Run(context.Background())
				if err != nil || out.FinalState != "done" || slow.asked != c.asked+1 {
					t.Errorf("resumed it ended in %s by %s (%s) after %d prompts: %v", out.FinalState,
						out.TerminatedBy, out.Error, slow.asked, err)
				}
			})
		})
	}
}

// A run that gets more time while a prompt is running does not end the prompt.
func TestMoreTimeForARunningPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, "name: x\ninitial: a\nbudget: {wall: 10}\nstates:\n"+
			"  a: {action_type: prompt, action: work, next: done}\n  done: {terminal: true}\n")
		slow := &slowAgent{took: 30 * time.Second}
		cfg, _, _ := config(loop, &tape{})
		cfg.Runner = slow
		begun := time.Now()
		cfg.Raise = func(after uint64) (uint64, fsm.Raise, string, bool) {
			if after > 0 || time.Since(begun) < 5*time.Second {
				return 0, fsm.Raise{}, "", false
			}
			return 1, fsm.Raise{Time: time.Minute}, "", true
		}
		out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
		if err != nil || out.FinalState != "done" || slow.asked != 1 || slow.ended != 0 {
			t.Errorf("it ended in %s by %s after %s: %v", out.FinalState, out.TerminatedBy, time.Since(begun), err)
		}
	})
}
