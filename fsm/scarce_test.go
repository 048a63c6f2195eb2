package fsm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// scarcity is a runner for which the machine has no process at one of its calls.
type scarcity struct {
	fake
	at, calls int
}

func (r *scarcity) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if r.calls++; r.calls == r.at {
		return fsm.Result{}, fmt.Errorf("bash cannot be started: %w", fsm.ErrScarce)
	}
	return r.fake.Run(ctx, a, out)
}

// A run failed for good because the machine had no process, or no descriptor, for a moment.
func TestScarcityInterrupts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scarce.yaml")
	if err := os.WriteFile(file, []byte(`name: scarce
description: acts once, asks, has items and branches
initial: a
states:
  a: {action: out one, idempotent: false, next: b, on_error: bad}
  b: {action: out two, evaluate: {type: llm_structured, prompt: "is it done?"}, on_yes: c, on_no: bad, on_error: bad}
  c: {for_each: [x], action: out three, idempotent: false, on_yes: d, on_no: bad, on_error: bad}
  d: {parallel: {p: {action: out four}}, on_yes: done, on_no: bad, on_error: bad}
  done: {terminal: true}
  bad: {terminal: true, failure: true}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	loop := loadTrace(t, file)
	for at := 1; at <= 5; at++ {
		synctest.Test(t, func(t *testing.T) {
			rec := &tape{}
			cfg, _, ctx := config(loop, rec)
			cfg.Runner = &scarcity{at: at}
			out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
			if err != nil || out.TerminatedBy != fsm.EndInterrupted || !out.Limited || out.Error == "" {
				t.Fatalf("call %d: %+v, %v", at, out, err)
			}
			last := clone(rec.saved[len(rec.saved)-1])
			if name, err := last.Unrepeatable(loop, nil); name != "" || err != nil {
				t.Errorf("call %d: the action of %q counts as started, %v", at, name, err)
			}
			out, err = fsm.Resume(cfg, last).Run(ctx)
			if err != nil || out.FinalState != "done" || out.Limited {
				t.Errorf("call %d: resumed: %+v, %v", at, out, err)
			}
		})
	}
}
