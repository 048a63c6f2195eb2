package fsm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A clock that was two hours ahead was set back while a run was stopped in a wait: a wait of 3 s lasted 2 h. (35 1.14)
func TestWaitAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait    fsm.Await
		timeout time.Duration
		ahead   time.Duration // the clock, when the wait began; then it is set right
		end     string
		most    time.Duration
	}{
		"for":                       {fsm.Await{For: 3 * time.Second}, 0, 2 * time.Hour, "done", 3 * time.Second},
		"a time of day, days ahead": {fsm.Await{At: "00:00"}, 0, 49 * time.Hour, "done", 24 * time.Hour},
		"timeout": {
			fsm.Await{File: "nowhere", Every: time.Minute, Backoff: 1},
			3 * time.Second,
			2 * time.Hour, "failed", 3 * time.Second,
		},
		"a look": {
			fsm.Await{Until: "exit 0", Every: time.Minute, Backoff: 1},
			0, 2 * time.Hour,
			"done", time.Minute,
		},
		"an answer, with its timeout": {
			fsm.Await{Event: "go"},
			3 * time.Second, 2 * time.Hour, "failed",
			3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, awaitingLoop)
				loop.States["ready"].Await, loop.States["ready"].Timeout = &c.wait, c.timeout
				time.Sleep(30 * time.Minute) // it is no full hour
				now := time.Now()
				m := &fsm.Snapshot{
					Loop: loop.Name, Phase: fsm.PhaseActing, Current: "ready", Step: 1, StartedAt: now,
					Context: loop.Context.Clone(), Captured: value.NewMap(),
				}
				since := now.Add(c.ahead)
				w := fsm.Awaiting{State: "ready", Kind: c.wait.Kind(), What: c.wait.At + c.wait.Until + c.wait.File +
					c.wait.Event, Since: since, Next: since.Add(time.Minute), Looks: 1}
				if c.wait.For > 0 {
					w.Until = since.Add(c.wait.For)
				}
				if c.wait.At != "" {
					at, err := fsm.NextTime(c.wait.At, since)
					if err != nil {
						t.Fatal(err)
					}
					w.Until = at
				}
				if !w.Until.IsZero() {
					w.Next = w.Until
				}
				if c.timeout > 0 {
					w.Deadline = since.Add(c.timeout)
				}
				m.Awaiting = &w
				cfg, _, _ := config(loop, &tape{})
				cfg.Inbox = box{}
				out, err := fsm.Resume(cfg, m).Run(context.Background())
				if took := time.Since(now); err != nil || out.FinalState != c.end || took > c.most+2*time.Second {
					t.Errorf("it ended in %s after %s (%v), want %s in %s", out.FinalState, took, err, c.end, c.most)
				}
			})
		})
	}
}

// A state that waits does so again each time that it is entered, also where nothing is between two visits.
func TestWaitOfEachVisit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait    fsm.Await
		timeout time.Duration
	}{
		"for":     {fsm.Await{For: 3 * time.Second}, 0},
		"timeout": {fsm.Await{File: "nowhere", Every: time.Minute, Backoff: 1}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, `name: waits
initial: ready
max_steps: 3
states:
  ready: {on_yes: ready, on_timeout: ready}
  done: {terminal: true}
`)
				loop.States["ready"].Await, loop.States["ready"].Timeout = &c.wait, c.timeout
				cfg, _, _ := config(loop, &tape{})
				begin := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background())
				if took := time.Since(begin); err != nil || out.Steps != 3 || took != 9*time.Second {
					t.Errorf("%d visits took %s (%v), want 3 in 9s", out.Steps, took, err)
				}
			})
		})
	}
}
