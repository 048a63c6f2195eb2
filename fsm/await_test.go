package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

const awaitingLoop = `name: waits
initial: ready
states:
  ready:
    on_yes: done
    on_timeout: failed
  done: {terminal: true}
  failed: {terminal: true}
`

// A process that dies at any record of a wait leaves a run that waits the rest, repeats at most the look in
// flight, and ends as the unbroken run does.
func TestWaitAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wait    fsm.Await
		timeout time.Duration
		end     string
		took    time.Duration
		looks   int
	}{
		"for":     {fsm.Await{For: 2 * time.Hour}, 0, "done", 2 * time.Hour, 0},
		"timeout": {fsm.Await{For: 2 * time.Hour}, time.Hour, "failed", time.Hour, 0},
		"file":    {fsm.Await{File: "nowhere", Every: time.Minute, Backoff: 1}, time.Hour, "failed", time.Hour, 0},
		"until": {
			fsm.Await{Until: "exit 1", Every: 2 * time.Second, Backoff: 2, Most: 10 * time.Second},
			30 * time.Second, "failed", 30 * time.Second, 6, // at 0, 2, 6, 14, 24 and 30 s
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, awaitingLoop)
				loop.States["ready"].Await, loop.States["ready"].Timeout = &c.wait, c.timeout
				whole := &tape{}
				cfg, unbroken, _ := config(loop, whole)
				begin := time.Now()
				want, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin).Round(time.Second); took != c.took || want.FinalState != c.end ||
					len(unbroken.ran) != c.looks {
					t.Fatalf("the unbroken run took %s, ended in %s and looked %d times", took, want.FinalState,
						len(unbroken.ran))
				}
				for die := 2; die <= whole.count; die++ {
					rec := &tape{die: die}
					cfg, first, _ := config(loop, rec)
					begin := time.Now()
					if _, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background()); !errors.Is(
						err, errDied) {
						t.Fatalf("batch %d lost: the run was carried further: %v", die, err)
					}
					last := len(rec.saved) - 1
					rec.die, rec.events = 0, rec.events[:rec.points[last]]
					second := &fake{}
					cfg.Runner = second
					got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					if got.FinalState != want.FinalState || got.Steps != want.Steps {
						t.Errorf("batch %d lost: it ended as %+v, want %+v", die, got, want)
					}
					if n := len(first.ran) + len(second.ran); n > c.looks+1 {
						t.Errorf("batch %d lost: %d looks in all, %d in an unbroken run", die, n, c.looks)
					}
					if now := time.Since(begin); now > c.took+time.Second {
						t.Errorf("batch %d lost: it waited %s in all, want %s", die, now, c.took)
					}
				}
			})
		})
	}
}

// A stop in a wait keeps the wait on record: the resumed run waits the rest.
func TestAStopInAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, awaitingLoop)
		loop.States["ready"].Await = &fsm.Await{For: 10 * time.Minute}
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		time.AfterFunc(4*time.Minute, func() { runner.stop(&fsm.Stop{Signal: "SIGTERM"}) })
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if err != nil || out.TerminatedBy != fsm.EndInterrupted {
			t.Fatalf("stopped in a wait: %+v, %v", out, err)
		}
		last := rec.saved[len(rec.saved)-1]
		if w := last.Waiting(); w == nil || w.Why != fsm.WaitState || w.State != "ready" {
			t.Fatalf("it does not tell what it waits for: %+v", w)
		}
		if out, err = fsm.Resume(cfg, clone(last)).Run(context.Background()); err != nil || out.FinalState != "done" {
			t.Fatalf("resumed: %+v, %v", out, err)
		}
		if took := time.Since(begin).Round(time.Second); took != 10*time.Minute {
			t.Errorf("in all it took %s, want 10m", took)
		}
	})
}

// A pause in a wait shows as one, keeps the script from being run, and does not make the wait longer.
func TestAPauseInAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, awaitingLoop)
		loop.States["ready"].Await = &fsm.Await{Until: "exit 1", Every: time.Minute, Backoff: 1}
		loop.States["ready"].Timeout = time.Hour
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		var released chan struct{}
		changed := make(chan struct{})
		cfg.Held = func() <-chan struct{} { return released }
		cfg.Changed = func() <-chan struct{} { return changed }
		time.AfterFunc(10*time.Minute+30*time.Second, func() {
			synctest.Wait() // the machine waits, and reads nothing of this until a channel is closed
			released = make(chan struct{})
			old := changed
			changed = make(chan struct{})
			close(old)
		})
		paused := 0
		time.AfterFunc(40*time.Minute, func() {
			synctest.Wait()
			last := rec.saved[len(rec.saved)-1]
			if w := last.Waiting(); w == nil || w.Why != fsm.WaitPaused || last.Awaiting == nil {
				t.Errorf("paused in a wait, it waits for %+v and remembers %+v", w, last.Awaiting)
			}
			paused = len(runner.ran)
			gone := released
			released = nil
			close(gone)
		})
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if err != nil || out.FinalState != "failed" {
			t.Fatalf("it ended as %+v, %v", out, err)
		}
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("it took %s, want 1h", took)
		}
		if paused != 11 || len(runner.ran) != 11+21 { // at 0, 1 … 10 min; at 40, 41 … 60 min
			t.Errorf("%d looks before the pause and %d in all", paused, len(runner.ran))
		}
	})
}

// The time of a budget, or of the loop, that is used up in a wait ends the run there, and not after the wait.
func TestTheTimeIsUpInAWait(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(l *fsm.Loop){
		fsm.EndBudget:  func(l *fsm.Loop) { l.Budget = &fsm.Budget{Wall: 10 * time.Minute} },
		fsm.EndTimeout: func(l *fsm.Loop) { l.Timeout = 10 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, awaitingLoop)
				loop.States["ready"].Await = &fsm.Await{File: "nowhere", Every: time.Hour, Backoff: 1}
				set(loop)
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				begin := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
				if err != nil || out.TerminatedBy != name || out.FinalState != "ready" {
					t.Fatalf("it ended as %+v, %v", out, err)
				}
				if took := time.Since(begin).Round(time.Second); took != 10*time.Minute {
					t.Errorf("it took %s, want 10m", took)
				}
				if last := rec.saved[len(rec.saved)-1]; last.Awaiting == nil || last.InFlight() {
					t.Errorf("it remembers the wait as %+v, and an action in flight: %v", last.Awaiting,
						last.InFlight())
				}
			})
		})
	}
}

// What a look came to is on record, and in the capture.
func TestTheEvidenceOfAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, awaitingLoop)
		loop.States["ready"].Await = &fsm.Await{
			Until: "try 3: out up; try 1: err refused; try 1: exit 7; try 2: err refused; try 2: exit 7",
			Every: time.Second, Backoff: 1,
		}
		loop.States["ready"].Capture = "got"
		rec := &tape{}
		cfg, _, ctx := config(loop, rec)
		if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil ||
			out.FinalState != "done" {
			t.Fatalf("it ended as %+v, %v", out, err)
		}
		var told []string
		for _, e := range rec.events {
			switch e.Kind {
			case fsm.EventWaitCheck, fsm.EventEvaluate:
				told = append(told, fmt.Sprint(e.Kind, " ", e.Get("seen"), " ", e.Get("verdict")))
			case fsm.EventNote:
				told = append(told, fmt.Sprint(e.Kind, " ", e.Get("message")))
			}
		}
		want := []string{
			"note the run waits for its check to say yes: try 3: out up; try 1: err refused; try 1: exit 7; try 2: " +
				"err refused; try 2: exi",
			"wait_check exit code 7: refused <nil>", "evaluate exit code 0: up yes",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told: %q\nwant: %q", told, want)
		}
		got, _ := rec.saved[len(rec.saved)-1].Captured.Value("got").(*value.Map)
		if got.Value("output") != "up" || got.Value("verdict") != "yes" {
			t.Errorf("captured: %v", got)
		}
	})
}

// silent is a server that answers only when its client has given up, and then too late.
type silent struct{ late fsm.Answered }

func (s silent) URL(ctx context.Context, _ string, _ bool) (fsm.Answered, error) {
	<-ctx.Done()
	return s.late, nil
}

func (s silent) Run(ctx context.Context, _ string) (fsm.OtherRun, error) {
	<-ctx.Done()
	return fsm.OtherRun{}, ctx.Err()
}

// A server that never answers held its wait for thirty seconds a look, whatever the timeout of the wait or the
// loop was.
func TestWaitForASilentServer(t *testing.T) {
	for name, c := range map[string]struct {
		wait          fsm.Await
		timeout, loop time.Duration
		end           string
	}{
		"timeout of the wait": {
			fsm.Await{URL: "http://silent", Every: time.Second, Backoff: 1},
			5 * time.Second, 0,
			fsm.EndTerminal,
		},
		"timeout of the loop": {
			fsm.Await{URL: "http://silent", Every: time.Second, Backoff: 1},
			0, 5 * time.Second,
			fsm.EndTimeout,
		},
		"another run": {
			fsm.Await{Run: "other", Every: time.Second, Backoff: 1},
			5 * time.Second, 0,
			fsm.EndTerminal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, awaitingLoop)
				loop.States["ready"].Await, loop.States["ready"].Timeout, loop.Timeout = &c.wait, c.timeout, c.loop
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Watcher = silent{fsm.Answered{Problem: "no answer in time"}}
				begin := time.Now()
				got, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background())
				if err != nil || got.TerminatedBy != c.end || c.end == fsm.EndTerminal && got.FinalState != "failed" {
					t.Fatalf("%+v, %v", got, err)
				}
				if took := time.Since(begin).Round(time.Second); took != 5*time.Second {
					t.Errorf("the wait took %s", took)
				}
				if rec.saved[0].Awaiting == nil {
					t.Error("the wait was on no record while the first look took its time")
				}
			})
		})
	}
}

// One slow look held all branches: it was made by the one of them that alone may use what the machine remembers.
func TestSlowLookHoldsNoBranch(t *testing.T) {
	t.Parallel()
	for name, await := range map[string]fsm.Await{
		"URL":         {URL: "http://silent", Every: time.Second, Backoff: 1},
		"another run": {Run: "other", Every: time.Second, Backoff: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t,
					"name: slow\ninitial: work\nstates:\n  work: {parallel: {a: {loop: one}, b: {action: sleep "+
						"1s}}, on_yes: done, on_no: done}\n  done: {terminal: true}\n",
					"name: one\ninitial: ready\nstates:\n  ready: {wait: {url: 'http://silent'}, timeout: 60, "+
						"on_yes: done, on_timeout: done}\n  done: {terminal: true}\n")
				library["one"].States["ready"].Await = &await
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Watcher, cfg.Library, cfg.Verify = silent{}, library, true
				begin := time.Now()
				if got, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background()); err != nil ||
					got.FinalState != "done" {
					t.Fatal(got, err)
				}
				for _, e := range rec.events {
					if took := e.Time.Sub(begin); e.Kind == fsm.EventActionComplete && took > 2*time.Second {
						t.Errorf("the action of b, which takes a second, was complete after %v", took)
					}
				}
			})
		})
	}
}
