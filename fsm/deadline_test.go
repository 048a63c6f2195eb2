package fsm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// The timeout of a branch or an item that runs a loop ends what is in flight inside it; the timeout of the loop
// itself lets that end.
func TestTimeoutOfABranchOrAnItemWithALoop(t *testing.T) {
	t.Parallel()
	loopOf := func(keys, action string) string {
		return "name: one\ninitial: first\n" + keys + `
states:
  first: {action: out first, next: second}
  second: ` + action + `
  done: {terminal: true}
`
	}
	shell := "{action: sleep 4s, next: done, on_error: done}"
	for name, c := range map[string]struct {
		state, one string
		held       bool // the run is paused for a minute, before the second state of the loop
		took       time.Duration
		end        string
	}{
		"item": {
			state: `{for_each: [x], loop: one, timeout: 1, on_yes: done, on_no: failed}`,
			one:   loopOf("", shell), took: time.Second, end: "failed",
		},
		"item with branches": {
			state: `{for_each: [x], loop: one, timeout: 1, on_yes: done, on_no: failed}`,
			one:   loopOf("", "{parallel: {y: {action: sleep 4s}}, next: done}"), took: time.Second, end: "failed",
		},
		"item with a retry": {
			state: `{for_each: [x], loop: one, timeout: 1, on_yes: done, on_no: failed}`,
			one:   loopOf("", "{action: exit 2, retry: {times: 3, backoff: 10s}, on_yes: done, on_error: done}"),
			took:  time.Second, end: "failed",
		},
		"branch": {
			state: `{parallel: {x: {loop: one, timeout: 1}}, on_yes: done, on_no: failed}`, one: loopOf("", shell),
			took: time.Second, end: "failed",
		},
		"branch, paused meanwhile": {
			state: `{parallel: {x: {loop: one, timeout: 1}}, on_yes: done, on_no: failed}`, one: loopOf("", shell),
			held: true, took: 61 * time.Second, end: "failed",
		},
		"timeout of the loop": {
			state: `{for_each: [x], loop: one, on_yes: done, on_no: failed}`,
			one:   loopOf("timeout: 1", "{action: sleep 4s, next: third}\n  third: {action: out third, next: done}"),
			took:  4 * time.Second, end: "failed",
		},
		"timeout that is not reached": {
			state: `{for_each: [x], loop: one, timeout: 5, on_yes: done, on_no: failed}`,
			one:   loopOf("", shell), took: 4 * time.Second, end: "done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t, "name: outer\ninitial: work\nstates:\n  work: "+c.state+
					"\n  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n", c.one)
				rec := &ledger{}
				cfg, _, _ := config(loop, rec)
				cfg.Library, cfg.History = library, rec.history
				begun, released := time.Now(), make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(released) })
				cfg.Held = func() <-chan struct{} {
					if !c.held || time.Since(begun) >= time.Minute || len(rec.events) < 8 {
						return nil
					}
					return released
				}
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				ended := ""
				for _, ev := range rec.events {
					if ev.Kind == fsm.EventLoopComplete && ev.Depth == 1 {
						ended, _ = ev.Get("terminated_by").(string)
					}
				}
				if took := time.Since(begun); took != c.took || out.FinalState != c.end ||
					(ended == fsm.EndTimeout) != (c.end == "failed") {
					t.Errorf("it took %s and ended in %s, the loop by %s; want %s and %s\n%s", took, out.FinalState,
						ended, c.took, c.end, show(rec.events))
				}
			})
		})
	}
}
