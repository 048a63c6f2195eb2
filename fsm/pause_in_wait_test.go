package fsm_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// waitingLoops are loops that wait from 0 s to 20 s before they do what leads to their end.
var waitingLoops = map[string]string{
	"retry": "states:\n  a: {action: \"try 1: exit 7\", retry: {times: 2, backoff: 20s}, on_yes: done, " +
		"on_no: failed, on_error: failed}\n",
	"rate limit": "states:\n  a: {action_type: prompt, action: \"step 1: reset 19s\", next: done, " +
		"max_rate_limit_retries: 3, on_rate_limit_exhausted: failed, on_error: failed}\n",
	"backoff": "backoff: 20\nstates:\n  a: {action: out x, next: b}\n  b: {set: {x: 1}, next: done}\n",
	"retry in a branch": "states:\n  a:\n    parallel: {x: {action: \"try 1: exit 7\", retry: {times: 2, backoff: " +
		"20s}}, y: {action: out y}}\n    on_yes: done\n    on_no: failed\n    on_partial: failed\n",
}

func waitingLoop(t *testing.T, limits, states string) *fsm.Loop {
	t.Helper()
	return loadLoop(t, "name: waiting\ninitial: a\n"+limits+states+
		"  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
}

// lastStart returns when the last action began, from the beginning of the run: 0 = never.
func lastStart(events []fsm.Event, begun time.Time) (at time.Duration) {
	for _, e := range events {
		if e.Kind == fsm.EventActionStart {
			at = e.Time.Sub(begun)
		}
	}
	return at
}

// A pause was not seen while a run waited to try again, or for a rate limit: its time ran, and the paused run
// ended by its timeout. (37 1.5)
func TestPauseInAWait(t *testing.T) {
	t.Parallel()
	for name, states := range waitingLoops {
		for _, c := range []struct {
			until, again, used time.Duration // the pause from 2 s on ends; the action is done again; the used time
			limits             string
			end                string
		}{
			{time.Minute, time.Minute, 2 * time.Second, "timeout: 6\n", fsm.EndTerminal},
			{time.Minute, time.Minute, 2 * time.Second, "budget: {wall: 6}\n", fsm.EndTerminal},
			{10 * time.Second, 20 * time.Second, 12 * time.Second, "timeout: 13\n", fsm.EndTerminal},
			{10 * time.Second, 0, 6 * time.Second, "timeout: 6\n", fsm.EndTimeout},
		} {
			if name == "backoff" && c.end != fsm.EndTerminal {
				continue // it ends before the next state
			}
			t.Run(name+", "+c.limits+c.until.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := waitingLoop(t, c.limits, states)
					rec := &tape{}
					cfg, _, _ := config(loop, rec)
					watched(&cfg).pause(2*time.Second, c.until)
					time.AfterFunc(5*time.Second, func() {
						synctest.Wait()
						if w := rec.last().Waiting(); w == nil || w.Why != fsm.WaitPaused || w.By != "ada" {
							t.Errorf("on record is %+v", w)
						}
					})
					begun := time.Now()
					out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
					if err != nil || out.TerminatedBy != c.end {
						t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
					}
					if at := lastStart(rec.events, begun); name != "backoff" && c.again > 0 &&
						at.Truncate(time.Second) != c.again {
						t.Errorf("the action was done again at %s, want %s\n%s", at, c.again, show(rec.events))
					}
					// it waits a second time
					if got := out.Duration.Truncate(time.Second); name != "backoff" && got != c.used {
						t.Errorf("the used time is %s, want %s\n%s", out.Duration, c.used, show(rec.events))
					}
				})
			})
		}
	}
}

// An extension in such a wait was followed by the end of the wait at the old limit: the host was asked before
// it was to be. (37 1.6)
func TestExtendInAWait(t *testing.T) {
	t.Parallel()
	for name, states := range waitingLoops {
		for _, limits := range []string{"timeout: 6\n", "budget: {wall: 6}\n"} {
			t.Run(name+", "+limits, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := waitingLoop(t, limits, states)
					rec := &tape{}
					cfg, _, _ := config(loop, rec)
					watched(&cfg).extend(2*time.Second, time.Minute)
					time.AfterFunc(3*time.Second, func() {
						synctest.Wait()
						if rec.has(fsm.EventLimitRaised) == 0 {
							t.Error("the extension is not on record")
						}
					})
					begun := time.Now()
					out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
					if err != nil || out.FinalState != "done" {
						t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
					}
					if took := time.Since(begun).Truncate(time.Second); took != 20*time.Second &&
						took != 40*time.Second {
						t.Errorf("it took %s\n%s", took, show(rec.events))
					}
				})
			})
		}
	}
}

// A run that was killed while it was paused in a wait waits the rest when it is resumed.
func TestKillInAPausedWait(t *testing.T) {
	t.Parallel()
	for name, states := range waitingLoops {
		if name == "backoff" { // the next state was chosen: a resumed run enters it
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := waitingLoop(t, "", states)
				rec := &tape{}
				cfg, runner, ctx := config(loop, rec)
				watched(&cfg).pause(2*time.Second, time.Hour)
				var killed *fsm.Snapshot
				time.AfterFunc(5*time.Second, func() {
					synctest.Wait()
					killed = clone(rec.saved[len(rec.saved)-1])
					runner.stop(&fsm.Stop{})
				})
				begun := time.Now()
				if _, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(ctx); err != nil {
					t.Fatal(err)
				}
				again := &tape{}
				cfg.Recorder, cfg.Held = again, nil
				out, err := fsm.Resume(cfg, killed).Run(context.Background())
				if at := lastStart(again.events, begun); err != nil || out.FinalState != "done" ||
					at.Truncate(time.Second) != 20*time.Second {
					t.Errorf("the action was done again at %s: %+v, %v\n%s", at, out, err, show(again.events))
				}
				var why []string
				for _, m := range again.saved {
					if w := m.Waiting(); w != nil && !slices.Contains(why, w.Why) {
						why = append(why, w.Why)
					}
				}
				if len(why) == 0 || why[len(why)-1] == fsm.WaitPaused {
					t.Errorf("the resumed run waited for %v", why)
				}
			})
		})
	}
}

// A run that is to end when nothing is at work ends in such a wait, with the wait on record.
func TestDrainInAWait(t *testing.T) {
	t.Parallel()
	for name, states := range waitingLoops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := waitingLoop(t, "", states)
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				drain := make(chan struct{})
				cfg.Drain = drain
				time.AfterFunc(2*time.Second, func() { close(drain) })
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				if took := time.Since(begun); err != nil || out.TerminatedBy != fsm.EndUserStopped ||
					took != 2*time.Second {
					t.Errorf("after %s: %+v, %v\n%s", took, out, err, show(rec.events))
				}
			})
		})
	}
}

// So do waits for other runs: while a host refuses them, and while they spent as much as they may.
func TestPauseInAWaitForOthers(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*fsm.Config){
		"host refuses": func(cfg *fsm.Config) { cfg.Circuit = &circuit{until: time.Now().Add(20 * time.Second)} },
		"spent": func(cfg *fsm.Config) {
			until := time.Now().Add(20 * time.Second)
			cfg.Purse = purse{until, until}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := waitingLoop(t, "timeout: 6\n", "states:\n  a: {action_type: prompt, action: out x, next: "+
					"done, on_error: failed}\n")
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				prepare(&cfg)
				watched(&cfg).pause(2*time.Second, time.Minute)
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				if at := lastStart(rec.events, begun); err != nil || out.FinalState != "done" ||
					at.Truncate(time.Second) != time.Minute || out.Duration > 3*time.Second {
					t.Errorf("the prompt began at %s: %+v, %v\n%s", at, out, err, show(rec.events))
				}
			})
		})
	}
}

// A run that was resumed in a pause asked the judge of a recorded result before it was unpaused.
func TestResumedInAPauseBeforeAJudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := waitingLoop(t, "", "states:\n  a: {action: out x, evaluate: {type: llm_structured, prompt: \"judge: "+
			"yes\"}, on_yes: done, on_no: failed, on_error: failed}\n")
		rec := &tape{}
		cfg, f, _ := config(loop, rec)
		if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); err != nil ||
			out.FinalState != "done" {
			t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
		}
		m := clone(rec.saved[slices.IndexFunc(rec.saved, func(m *fsm.Snapshot) bool {
			return m.Phase == fsm.PhaseActed
		})])
		stopped := clone(m)
		m.Asking, m.Answers = false, nil
		f.ran = nil
		pause := func() {
			u := watched(&cfg)
			u.does(func() { u.hold = make(chan struct{}) })
			time.AfterFunc(10*time.Second, func() {
				u.does(func() {
					close(u.hold)
					u.hold = nil
				})
			})
		}
		pause()
		begun, before := time.Now(), len(rec.events)
		out, err := fsm.Resume(cfg, m).Run(context.Background())
		if took := time.Since(begun); err != nil || out.FinalState != "done" || len(f.ran) != 1 ||
			took < 10*time.Second {
			t.Fatalf("done were %q in %s: %+v, %v\n%s", f.ran, took, out, err, show(rec.events))
		}
		for _, ev := range rec.events[before:] { // status says that the run is paused, not that it is in the state
			if ev.Kind == fsm.EventStateEnter && ev.Time.Before(begun.Add(10*time.Second)) {
				t.Fatalf("the state is entered in the pause\n%s", show(rec.events[before:]))
			}
		}
		f.ran = nil
		pause()
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(&fsm.Stop{ByUser: true}) })
		if out, err = fsm.Resume(cfg, stopped).Run(ctx); err != nil || out.TerminatedBy != fsm.EndUserStopped ||
			len(f.ran) != 0 {
			t.Fatalf("stopped in the pause: done were %q: %+v, %v", f.ran, out, err)
		}
	})
}

// A run that was killed in a pause, while the judge of a recorded result waited for a budget, did the action
// again if the state had retry.
func TestKillInAPauseBeforeAJudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := waitingLoop(t, "", "states:\n  a: {action: out x, evaluate: {type: llm_structured, prompt: \"judge: "+
			"yes\"}, retry: {times: 2}, on_yes: done, on_no: failed, on_error: failed}\n")
		rec := &tape{}
		cfg, f, _ := config(loop, rec)
		if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); err != nil ||
			out.FinalState != "done" {
			t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
		}
		i := slices.IndexFunc(rec.saved, func(m *fsm.Snapshot) bool { return m.Phase == fsm.PhaseActed })
		m := rec.saved[i]
		m.Asking, m.Answers = false, nil
		m.Wait = &fsm.Wait{Why: fsm.WaitPaused, State: "a", Since: time.Now()}
		f.ran = nil
		out, err := fsm.Resume(cfg, m).Run(context.Background())
		if err != nil || out.FinalState != "done" || len(f.ran) != 1 {
			t.Fatalf("done were %q: %+v, %v\n%s", f.ran, out, err, show(rec.events))
		}
	})
}
