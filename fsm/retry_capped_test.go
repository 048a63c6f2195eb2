package fsm_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// A run that is capped and resumed again and again has as many entries of a state before max_retries as one
// that was not capped, whatever the limit was and whether it has a handler.
func TestMaxRetriesOfACappedRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ keys, states string }{
		"no cap": {keys: "max_steps: 50"},
		"steps":  {keys: "max_steps: 3"},
		"handler": {
			keys:   "max_steps: 3\non_max_steps: sum",
			states: "sum: {action: out sum, on_no: done, on_error: done}",
		},
		"handler with next": {
			keys:   "max_steps: 3\non_max_steps: sum",
			states: "sum: {action: out sum, next: done}",
		},
		"handler leads to work": {
			keys:   "max_steps: 3\non_max_steps: sum",
			states: "sum: {action: out sum, next: work}",
		},
		"budget": {keys: "budget: {steps: 3}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, "name: x\ninitial: work\n"+c.keys+`
states:
  work: {action: "exit 1", on_yes: done, on_no: $current, max_retries: 8, on_retry_exhausted: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
  `+c.states+"\n")
				rec := &tape{}
				cfg, runner, ctx := config(loop, rec)
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
				for n := 0; err == nil && n < 20 && out.TerminatedBy != fsm.EndTerminal; n++ {
					loop.MaxSteps += 3
					if loop.Budget != nil {
						loop.Budget.Steps += 3
					}
					out, err = fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
				}
				if err != nil {
					t.Fatal(err)
				}
				entries := 0
				for _, ran := range runner.ran {
					if ran[:5] == "work/" {
						entries++
					}
				}
				if out.FinalState != "failed" || entries != 9 {
					t.Errorf("work was entered %d times, want 9; the run ended as %s in %s", entries,
						fmt.Sprint(out.TerminatedBy), out.FinalState)
				}
			})
		})
	}
}
