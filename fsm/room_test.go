package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// diskError is a runner for which the disk is full at one of its calls.
type diskError struct {
	fake
	at, calls int
}

func (r *diskError) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if r.calls++; r.calls == r.at {
		return fsm.Result{}, fmt.Errorf("state %q: %w", a.State, fsm.ErrDiskFull)
	}
	return r.fake.Run(ctx, a, out)
}

// A full disk, met when an action or a judge was to be started, was routed like a mistake of the loop, or ended
// the run.
func TestFullDiskIsNoResult(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "full.yaml")
	if err := os.WriteFile(file, []byte(`name: full
description: acts and asks
initial: a
states:
  a: {action: out one, next: b, on_error: bad}
  b: {action: out two, evaluate: {type: llm_structured, prompt: "is it done?"}, on_yes: done, on_no: bad, on_error: bad}
  done: {terminal: true}
  bad: {terminal: true, failure: true}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	loop := loadTrace(t, file)
	for at := 1; at <= 3; at++ {
		synctest.Test(t, func(t *testing.T) {
			rec := &tape{}
			cfg, _, ctx := config(loop, rec)
			cfg.Runner = &diskError{at: at}
			if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); !errors.Is(err, fsm.ErrDiskFull) {
				t.Fatalf("call %d: %+v, %v", at, out, err)
			}
			last := clone(rec.saved[len(rec.saved)-1])
			if last.Outcome != nil {
				t.Fatalf("call %d: the run has ended: %+v", at, last.Outcome)
			}
			out, err := fsm.Resume(cfg, last).Run(ctx)
			if err != nil || out.FinalState != "done" {
				t.Errorf("call %d: resumed: %+v, %v", at, out, err)
			}
		})
	}
}
