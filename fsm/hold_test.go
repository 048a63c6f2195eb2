package fsm_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// holdFor has the run held for a time before the first state, and again after each of the next ones, n times in all.
func holdFor(cfg *fsm.Config, d time.Duration, n int) {
	entered, last, observe := 0, -1, cfg.Observe
	cfg.Observe = func(ev fsm.Event) {
		if ev.Kind == fsm.EventStateEnter {
			entered++
		}
		if observe != nil {
			observe(ev)
		}
	}
	var until time.Time
	var released chan struct{}
	cfg.Held = func() <-chan struct{} {
		switch now := time.Now(); {
		case now.Before(until):
			return released
		case entered == last || n == 0:
			return nil
		default:
			until, last = now.Add(d), entered
		}
		n--
		over := make(chan struct{})
		released = over
		time.AfterFunc(d, func() { close(over) })
		return released
	}
}

// A run that is held, also inside a sub-loop, takes the transitions it would have taken; the time it was held does not
// count.
func TestHeldRunsLoseNoTime(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"timeout-loop-subloop-seconds", "timeout-loop-subloop", "retries",
		"maintain-timeout",
	} {
		t.Run(file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free, want, took := waitCase(t, file, func(*fsm.Config) {})
				held, got, later := waitCase(t, file, func(cfg *fsm.Config) { holdFor(cfg, time.Hour, 3) })
				n := 0
				kept := slices.DeleteFunc(slices.Clone(held.events), func(e fsm.Event) bool {
					if m := e.Get("message"); e.Kind != "note" || m != "paused" && m != "the run continues" {
						return false
					}
					n++
					return true
				})
				if !slices.EqualFunc(free.events, kept, func(a, b fsm.Event) bool {
					return a.Kind == b.Kind && a.Get("state") == b.Get("state")
				}) {
					t.Errorf("held:\n%sfree:\n%s", show(kept), show(free.events))
				}
				if got.TerminatedBy != want.TerminatedBy || got.Steps != want.Steps || got.Duration != want.Duration {
					t.Errorf("held: %+v, free: %+v", got, want)
				}
				if n != 6 || later != took+3*time.Hour {
					t.Errorf("%d notes, and it took %s instead of %s", n, later, took)
				}
			})
		})
	}
}

// What a held run waits for is durable, and a stop ends it before the state is entered.
func TestStopWhileHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadTrace(t, "testdata/trace/timeout-loop-subloop.yaml")
		rec := &tape{}
		cfg, runner, _ := config(loop, rec)
		ctx, cancel := context.WithCancelCause(context.Background())
		holdFor(&cfg, time.Hour, 1)
		time.AfterFunc(time.Minute, func() {
			synctest.Wait() // until the run does nothing but wait
			last := rec.saved[len(rec.saved)-1]
			if w := last.Waiting(); w == nil || w.Why != fsm.WaitPaused || w.State != loop.Initial ||
				!rec.hard[len(rec.hard)-1] {
				t.Errorf("on record is %+v, durable %v", w, rec.hard)
			}
			cancel(&fsm.Stop{Signal: "SIGTERM"})
		})
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
		if err != nil || out.TerminatedBy != fsm.EndInterrupted || out.Steps != 0 || len(runner.ran) != 0 {
			t.Errorf("%+v, %v, ran %v", out, err, runner.ran)
		}
		stopped := clone(rec.saved[len(rec.saved)-1])
		if stopped.Waiting() != nil || stopped.Phase != fsm.PhasePending {
			t.Errorf("it waits for %+v in phase %s", stopped.Waiting(), stopped.Phase)
		}
		cfg.Held = nil
		if out, err = fsm.Resume(cfg, stopped).Run(context.Background()); err != nil || out.FinalState != "end" {
			t.Errorf("resumed: %+v, %v", out, err)
		}
	})
}
