package fsm_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"loops/fsm"
)

// TestBudgetLeft: actions and prompts find what the budgets leave, of each kind the least.
func TestBudgetLeft(t *testing.T) {
	t.Parallel()
	l := loadLoop(t, `name: left
initial: a
budget: {cost_usd: 2, tokens: 1000, prompts: 10}
host_guard: {enabled: false}
states:
  a: {action: "used 100 0.75", action_type: prompt, next: b}
  b: {action: "used 100 0.1", action_type: prompt, budget: {prompts: 3, tokens: 5000}, next: c}
  c: {action: "used 10", action_type: prompt, next: d}
  d: {action: x, next: done}
  done: {terminal: true}
`)
	l.Budget.AllowUnknown = true
	cfg, f, _ := config(l, &tape{})
	saw := &sawLeft{runner: f}
	cfg.Runner = saw
	if o, err := fsm.Start(cfg, l.Context.Clone(), time.Now()).Run(context.Background()); err != nil ||
		o.FinalState != "done" {
		t.Fatalf("%+v, %v", o, err)
	}
	want := []string{
		"a cost_usd=2 tokens=1000 prompts=10", "b cost_usd=1.25 tokens=900 prompts=3",
		"c cost_usd=1.15 tokens=800 prompts=8", "d cost_usd=1.15 tokens=790 prompts=7",
	}
	if !slices.Equal(saw.left, want) {
		t.Errorf("%q, want %q", saw.left, want)
	}
}

// A sawLeft notes what each action finds of the budgets.
type sawLeft struct {
	runner fsm.Runner
	left   []string
}

func (s *sawLeft) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	for _, v := range a.Vars {
		if v.Name == "LOOPS_BUDGET_LEFT" {
			s.left = append(s.left, a.State+" "+v.Value)
		}
	}
	return s.runner.Run(ctx, a, out)
}
