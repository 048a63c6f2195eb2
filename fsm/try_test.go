package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

const failingLoop = `name: flaky
initial: fetch
states:
  fetch:
    action: "out no; exit 7"
    capture: got
    retry: {times: 3, backoff: 2s..1m}
    on_yes: done
    on_no: failed
    on_error: send
  send:
    action: "exit 3"
    retry: {times: 2, backoff: 0}
    next: done
  done: {terminal: true}
  failed: {terminal: true}
`

// A process that dies at any record of its retries leaves a run that, when it is resumed, repeats no try whose
// end is on record, makes as many tries as the unbroken run, waits no longer than that, and ends as it does.
func TestRetriesAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, failingLoop)
		whole := &tape{}
		cfg, unbroken, _ := config(loop, whole)
		begin := time.Now()
		want, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		if took < 14*time.Second || len(unbroken.ran) != 7 { // 2 + 4 + 8 s; four tries and three
			t.Fatalf("the unbroken run took %s and made the tries %v", took, unbroken.ran)
		}
		for die := 2; die <= whole.count; die++ {
			for _, power := range []bool{false, true} {
				rec := &tape{die: die}
				cfg, first, _ := config(loop, rec)
				begin := time.Now()
				if _, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background()); !errors.Is(err,
					errDied) {
					t.Fatalf("batch %d lost: the run went on: %v", die, err)
				}
				last := len(rec.saved) - 1
				for power && last > 0 && !rec.hard[last] {
					last--
				}
				rec.die, rec.events = 0, rec.events[:rec.points[last]]
				second := &fake{}
				cfg.Runner = second
				got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if got.FinalState != want.FinalState || got.TerminatedBy != want.TerminatedBy ||
					got.Steps != want.Steps {
					t.Errorf("batch %d lost (power %v): it ended as %+v, want %+v", die, power, got, want)
				}
				if ended := triesEnded(rec.events); !slices.Equal(ended, triesEnded(whole.events)) {
					t.Errorf("batch %d lost (power %v): recorded tries %v, want %v", die, power, ended,
						triesEnded(whole.events))
				}
				if n := len(first.ran) + len(second.ran); n > len(unbroken.ran)+1 && !power {
					t.Errorf("batch %d lost: %d tries in all, %d in an unbroken run", die, n, len(unbroken.ran))
				}
				if now := time.Since(begin); now > took+time.Second && !power {
					t.Errorf("batch %d lost: both took %s, the unbroken run %s: a resumed run waits the rest", die,
						now, took)
				}
			}
		}
	})
}

// triesEnded lists the tries whose end is on record: state and step.
func triesEnded(events []fsm.Event) (ended []string) {
	state := ""
	for _, e := range events {
		switch e.Kind {
		case fsm.EventStateEnter:
			state = fmt.Sprint(e.Get("state"), "/", e.Get("iteration"))
		case fsm.EventActionComplete:
			ended = append(ended, state)
		}
	}
	return ended
}

// A stop in a wait for the next try keeps the wait: the resumed run waits the rest, and begins the try it waited for.
func TestAStopBetweenTwoTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, strings.Replace(failingLoop, "2s..1m", "10s", 1))
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		time.AfterFunc(4*time.Second, func() { runner.stop(&fsm.Stop{Signal: "SIGTERM"}) })
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if err != nil || out.TerminatedBy != fsm.EndInterrupted || len(runner.ran) != 1 {
			t.Fatalf("stopped in a wait: %+v, %v, tries %v", out, err, runner.ran)
		}
		last := rec.saved[len(rec.saved)-1]
		if w := last.Waiting(); w == nil || w.Why != fsm.WaitRetry || w.State != "fetch" {
			t.Fatalf("it does not tell what it waits for: %+v", w)
		}
		if last.InFlight() {
			t.Error("no action is in flight in a wait, but the run says so")
		}
		second := &fake{}
		cfg.Runner = second
		if out, err = fsm.Resume(cfg, clone(last)).Run(context.Background()); err != nil || out.FinalState != "done" {
			t.Fatalf("resumed: %+v, %v", out, err)
		}
		if took := time.Since(begin).Round(time.Second); took != 30*time.Second || len(second.ran) != 3+3 {
			t.Errorf("in all it took %s, want 30s; tries after the stop: %v", took, second.ran)
		}
	})
}

// The time of the run, its budget and a pause count between two tries as between two states.
func TestLimitsBetweenTwoTries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, extra, by string
		tries           int
	}{
		{"timeout of the loop", "timeout: 5", fsm.EndTimeout, 2},
		{"budget of the loop", "budget: {wall: 5}", fsm.EndBudget, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, strings.Replace(failingLoop, "initial:", c.extra+"\ninitial:", 1))
				rec := &tape{}
				cfg, runner, ctx := config(loop, rec)
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
				if err != nil || out.TerminatedBy != c.by || len(runner.ran) > c.tries {
					t.Fatalf("%+v, %v, tries %v", out, err, runner.ran)
				}
			})
		})
	}
}

// A run that is paused between two tries begins the next one when it is released, also after its process was killed.
func TestAPauseBetweenTwoTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, failingLoop)
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		hold := make(chan struct{})
		cfg.Held = func() <-chan struct{} {
			if len(runner.ran) == 1 {
				return hold
			}
			return nil
		}
		time.AfterFunc(time.Minute, func() { runner.stop(&fsm.Stop{}) })
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil || len(runner.ran) != 1 {
			t.Fatalf("paused: %v, tries %v", err, runner.ran)
		}
		held := slices.IndexFunc(rec.saved, func(s *fsm.Snapshot) bool {
			return s.Waiting() != nil && s.Waiting().Why == fsm.WaitPaused
		})
		if held < 0 {
			t.Fatal("no record of the pause")
		}
		second := &fake{}
		cfg.Runner, cfg.Held = second, nil
		begin := time.Now()
		out, err := fsm.Resume(cfg, clone(rec.saved[held])).Run(context.Background())
		if err != nil || out.FinalState != "done" || len(second.ran) != 3+3 {
			t.Fatalf("resumed: %+v, %v, tries %v", out, err, second.ran)
		}
		if took := time.Since(begin).Round(time.Second); took != 12*time.Second { // 4 + 8: the first wait was over
			t.Errorf("it waited %s, want 12s", took)
		}
	})
}

// loadLoop is loadTrace for a text.
func loadLoop(t *testing.T, text string) *fsm.Loop {
	t.Helper()
	file := filepath.Join(t.TempDir(), "loop.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadTrace(t, file)
}
