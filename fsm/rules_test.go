package fsm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A run whose next state was taken out of its loop ends with an error that names it, and starts nothing.
func TestNextStateIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, _, _ := config(loadTrace(t, "testdata/trace/stays.yaml"), &tape{})
		out, err := fsm.Resume(cfg, &fsm.Snapshot{
			Loop: "stays", Phase: fsm.PhasePending, Current: "gone", Previous: "a", Step: 1, JustRouted: true,
			StartedAt: time.Now(), Context: value.NewMap(),
		}).Run(t.Context())
		if err != nil || out.TerminatedBy != fsm.EndError || !strings.Contains(out.Error, `"gone"`) || out.Steps != 1 {
			t.Errorf("it ended by %+v, %v", out, err)
		}
	})
}

// A run whose folder is gone ends before the next state, and can be resumed.
func TestWorkdirIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &tape{}
		loop := loadTrace(t, "testdata/trace/stays.yaml")
		cfg, _, _ := config(loop, rec)
		cfg.Dir = "/project"
		cfg.Gone = func(string) bool { return len(rec.saved) > 2 }
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(t.Context())
		if err != nil || out.TerminatedBy != fsm.EndWorkdirVanished || !out.Retriable() ||
			!strings.Contains(out.Error, "/project") || out.Steps == 0 {
			t.Errorf("it ended by %+v, %v", out, err)
		}
	})
}

// What a state with branches comes to, what becomes of each branch, and how long it takes.
func TestJoins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, keys, end, ends, took string }{
		{"any: the first yes wins and stops the others", "parallel: {a: {action: exit 1}, b: {action: sleep 1s}, c: " +
			"{action: sleep 9s}}\n    join: any", "yes", "a no, b yes, c stopped", "1s"},
		{"any: without a yes it is no", "parallel: {a: {action: exit 1}, b: {action: sleep 1s; exit 1}}\n" +
			"    join: any", "no", "a no, b no", "1s"},
		{"all: the first failure stops the others", "parallel: {a: {action: sleep 1s; exit 1}, b: {action: sleep " +
			"9s}, c: {action: out}}", "partial", "c yes, a no, b stopped", "1s"},
		{
			"all: none begins after a failure",
			"parallel: {a: {action: exit 1}, b: {action: out}}\n    max_parallel: 1",
			"no", "a no", "0s",
		},
		{"all, on_branch_failure: continue", "parallel: {a: {action: sleep 1s; exit 1}, b: {action: sleep 3s}}\n" +
			"    on_branch_failure: continue", "partial", "a no, b yes", "3s"},
		{
			"settled waits for all", "parallel: {a: {action: exit 1}, b: {action: sleep 2s}}\n    join: settled",
			"partial", "a no, b yes", "2s",
		},
		{
			"a loop whose time is up is an error", "parallel: {a: {loop: slow}, b: {action: out}}\n    join: settled",
			"partial", "b yes, a error", "4s",
		},
		{
			"all that come to yes are a yes", "parallel: {a: {action: out}, b: {action: sleep 2s}}", "yes",
			"a yes, b yes", "2s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t, fmt.Sprintf(`name: joins
initial: work
states:
  work:
    %s
    on_yes: "yes"
    on_no: "no"
    on_partial: partial
    on_error: error
  "yes": {terminal: true}
  "no": {terminal: true}
  partial: {terminal: true}
  error: {terminal: true}
`, c.keys), "name: slow\ninitial: a\ntimeout: 2\nstates:\n  a: {action: sleep 3s, next: b}\n  b: {action: sleep 1s, next: done}\n  done: {terminal: true}\n")
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Library = library
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var ends []string
				for _, e := range rec.events {
					if e.Kind == fsm.EventBranchEnd {
						ends = append(ends, fmt.Sprint(e.Get("branch"), " ", e.Get("verdict")))
					}
				}
				if got, took := strings.Join(ends, ", "), time.Since(begun).String(); out.FinalState != c.end ||
					got != c.ends || took != c.took {
					t.Errorf("it ended in %s after %s with %s, want %s after %s with %s", out.FinalState, took, got,
						c.end, c.took, c.ends)
				}
			})
		})
	}
}

// A run that is resumed with a higher budget warns again, and follows on_budget again.
func TestRaisedBudgetRoutesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := func(prompts int) string {
			return fmt.Sprintf(`name: budget
initial: work
budget: {prompts: %d}
on_budget: rest
host_guard: {enabled: false}
states:
  work: {action: used 1 0.1, action_type: prompt, next: work}
  rest: {action: "try 1: stop", next: work}
  done: {terminal: true}
`, prompts)
		}
		rec := &tape{}
		cfg, _, ctx := config(loadLoop(t, text(2)), rec)
		if _, err := fsm.Start(cfg, value.NewMap(), time.Now()).Run(ctx); err != nil {
			t.Fatal(err)
		}
		last := clone(rec.saved[len(rec.saved)-1])
		cfg, _, ctx = config(loadLoop(t, text(4)), rec)
		if _, err := fsm.Resume(cfg, last).Run(ctx); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, e := range rec.events {
			kinds[e.Kind]++
		}
		if kinds[fsm.EventBudgetWarning] != 2 || kinds[fsm.EventBudgetExceeded] != 2 {
			t.Errorf("%d warnings and %d routes, want 2 each:\n%s", kinds[fsm.EventBudgetWarning],
				kinds[fsm.EventBudgetExceeded], show(rec.events))
		}
	})
}

// A sleeper is a runner whose actions take so long, and succeed.
type sleeper time.Duration

func (s sleeper) Run(ctx context.Context, _ fsm.Action, _ func(string)) (fsm.Result, error) {
	select {
	case <-time.After(time.Duration(s)):
	case <-ctx.Done():
	}
	return fsm.Result{}, nil
}

// No item begins once the time of a budget is up, and no branch once the run is to stop after what is at work.
func TestNothingBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, state, kind, end string }{
		{
			"an item after the budget", "budget: {wall: 3}\n    for_each: [a, b, c, d]\n    action: sleep 2s",
			fsm.EventItemStart, fsm.EndBudget,
		},
		{
			"an item after a drain", "for_each: [a, b, c, d]\n    parallel: 2\n    action: sleep 2s",
			fsm.EventItemStart,
			fsm.EndUserStopped,
		},
		{"a branch after a drain", "parallel: {a: {action: sleep 5s}, b: {action: sleep 2s}, c: {action: out}}\n" +
			"    max_parallel: 2\n    join: settled", fsm.EventBranchStart, fsm.EndUserStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				state, budget := c.state, ""
				if text, rest, found := strings.Cut(state, "\n    for_each"); found {
					budget, state = text, "for_each"+rest
				}
				loop := loadLoop(t,
					fmt.Sprintf("name: begins\ninitial: work\n%s\nstates:\n  work:\n    %s\n    on_yes: done\n"+
						"    on_no: done\n    on_partial: done\n  done: {terminal: true}\n", budget, state))
				rec := &ledger{}
				cfg, _, _ := config(loop, rec)
				drain := make(chan struct{})
				cfg.Drain, cfg.History = drain, rec.history
				cfg.Held = cfg.Changed // which a list asks too: it does not spin either
				if c.kind == fsm.EventItemStart {
					cfg.Runner = sleeper(2 * time.Second)
				}
				if budget == "" {
					time.AfterFunc(time.Second, func() { close(drain) })
				}
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(t.Context())
				if err != nil || out.TerminatedBy != c.end {
					t.Fatalf("it ended by %+v, %v\n%s", out, err, show(rec.events))
				}
				begun := 0
				for _, e := range rec.events {
					if e.Kind == c.kind {
						begun++
					}
				}
				if begun != 2 {
					t.Errorf("%d began, want 2:\n%s", begun, show(rec.events))
				}
			})
		})
	}
}

// What a run comes to whose branches, items and actions do what is not usual.
func TestRulesOfEnds(t *testing.T) {
	t.Parallel()
	const spender = "name: spender\ninitial: one\nbudget: {prompts: 1}\nhost_guard: {enabled: false}\nstates:\n" +
		"  one: {action: used 1 0.1, action_type: prompt, next: two}\n  two: {action: used 1 0.1, action_type: " +
		"prompt, next: done}\n  done: {terminal: true}\n"
	routes := "\n    on_yes: \"yes\"\n    on_no: \"no\"\n    on_error: error\n"
	for _, c := range []struct {
		name, head, state string
		runner            fsm.Runner // nil = the fake
		by, end           string
		begun             int // items
	}{
		{"a branch hands over", "", "parallel: {a: {action: \"out CONTEXT_HANDOFF: go\"}, b: {action: sleep 2s}}" +
			routes, nil, fsm.EndHandoff, "work", 0},
		{
			"a branch used up its own budget", "",
			"parallel: {a: {loop: spender}, b: {action: out}}\n    join: settled\n    on_partial: partial" + routes,
			nil, fsm.EndTerminal, "partial", 0,
		},
		{
			"an item failed", "", "for_each: [a, b, c]\n    action: out\n    on_partial: partial" + routes,
			failing{},
			fsm.EndTerminal, "no", 1,
		},
		{
			"a list is empty", "", "for_each: \"${context.none}\"\n    action: out\n    on_empty: empty" + routes, nil,
			fsm.EndTerminal, "empty", 0,
		},
		{"a state waits", "", "wait: {for: 60m}\n    next: \"yes\"\n", nil, fsm.EndParked, "work", 0},
		{"a sub-loop waits", "", "loop: waiter" + routes, nil, fsm.EndParked, "work", 0},
		{
			"a branch waits", "", "parallel: {a: {loop: waiter}, b: {action: out}}" + routes, nil, fsm.EndParked,
			"work",
			0,
		},
		{"the memory of actions is used up", "host_guard: {enabled: true, max_cumulative_subproc_mb: 100, " +
			"on_budget_exceeded: abort}\n", "action: out\n    next: work\n", hungry{}, fsm.EndHostBudget, "work", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t,
					"name: ends\ninitial: work\ncontext: {none: \"\"}\nmax_edge_revisits: 1000\n"+c.head+
						"states:\n  work:\n    "+c.state+
						"  \"yes\": {terminal: true}\n  \"no\": {terminal: true}\n  partial: {terminal: true}\n"+
						"  error: {terminal: true}\n  empty: {terminal: true}\n", spender,
					"name: waiter\ninitial: a\nstates:\n  a: {wait: {for: 60m}, next: done}\n"+
						"  done: {terminal: true}\n")
				rec := &ledger{}
				cfg, _, _ := config(loop, rec)
				cfg.Library, cfg.History, cfg.Park = library, rec.history, true
				if c.runner != nil {
					cfg.Runner = c.runner
				}
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(t.Context())
				begun := 0
				for _, e := range rec.events {
					if e.Kind == fsm.EventItemStart {
						begun++
					}
				}
				if err != nil || out.TerminatedBy != c.by || out.FinalState != c.end || begun != c.begun {
					t.Errorf("it ended by %s in %s with %d items (%v), want %s in %s with %d\n%s", out.TerminatedBy,
						out.FinalState, begun, err, c.by, c.end, c.begun, show(rec.events))
				}
			})
		})
	}
}

// failing is a runner whose actions fail.
type failing struct{}

func (failing) Run(context.Context, fsm.Action, func(string)) (fsm.Result, error) {
	return fsm.Result{ExitCode: 1}, nil
}

// hungry is a runner whose actions need 60 MB.
type hungry struct{}

func (hungry) Run(context.Context, fsm.Action, func(string)) (fsm.Result, error) {
	return fsm.Result{PeakRSS: 60 << 20}, nil
}
