package fsm_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

// waitCase runs a trace whose runner and circuit the case has prepared, and says what happened when.
func waitCase(t *testing.T, file string, prepare func(*fsm.Config)) (*tape, fsm.Outcome, time.Duration) {
	t.Helper()
	loop := loadTrace(t, "testdata/trace/"+file+".yaml")
	rec := &tape{}
	cfg, _, ctx := config(loop, rec)
	prepare(&cfg)
	begun := time.Now()
	out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return rec, out, time.Since(begun)
}

func count(events []fsm.Event, kind string) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestWakeEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		wake <- struct{}{} // from before: it is of no wait
		time.AfterFunc(20*time.Second, func() { wake <- struct{}{} })
		rec, out, took := waitCase(t, "stop-rate-limit", func(cfg *fsm.Config) {
			cfg.Wake, cfg.Runner = wake, &fake{}
		})
		// The circuit says a minute, but the one who woke the run knows better.
		if out.TerminatedBy != fsm.EndTerminal || took != 20*time.Second {
			t.Errorf("ended by %s after %s, want the terminal after 20s:\n%s", out.TerminatedBy, took, show(rec.events))
		}
	})
}

func TestBackoffAlsoBeforeATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec, out, took := waitCase(t, "backoff", func(*fsm.Config) {})
		if out.TerminatedBy != fsm.EndTerminal || took != 4*time.Second {
			t.Errorf("ended by %s after %s, want the terminal after 4s:\n%s", out.TerminatedBy, took, show(rec.events))
		}
	})
}

func TestPromptsWaitForTheCircuit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit, want time.Duration
	}{
		"another run is refused":              {90 * time.Second, 90 * time.Second},
		"for longer than this one would wait": {100 * time.Hour, 300 * time.Second},
		"the refusal is over":                 {-time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				rec, _, _ := waitCase(t, "prompt-rate-limit", func(cfg *fsm.Config) {
					cfg.Circuit = &circuit{until: begun.Add(c.limit)}
				})
				for _, e := range rec.events {
					if e.Kind == "action_start" {
						if got := e.Time.Sub(begun).Round(time.Second); got != c.want {
							t.Errorf("the first prompt began after %s, want %s:\n%s", got, c.want, show(rec.events))
						}
						return
					}
				}
			})
		})
	}
}

// A run that dies in a wait waits only the rest, and asks at once where the time has passed meanwhile.
func TestAResumedRunWaitsTheRest(t *testing.T) {
	t.Parallel()
	for _, dead := range []time.Duration{0, 40 * time.Second, time.Hour} {
		t.Run(fmt.Sprint(dead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, "testdata/trace/prompt-reset.yaml")
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				ctx, kill := context.WithCancelCause(ctx)
				begun := time.Now()
				time.AfterFunc(20*time.Second, func() { kill(&fsm.Stop{Signal: "SIGINT"}) })
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
					t.Fatal(err)
				}
				last := clone(rec.saved[len(rec.saved)-1])
				last.Outcome = nil // as if it had been killed
				if w := last.Waiting(); w == nil || w.Why != fsm.WaitRateLimit || w.Until.Sub(begun) != 91*time.Second {
					t.Fatalf("it waits for %+v, want the rate limit for 91s", w)
				}
				testenv.Pass(dead)
				rec.events = nil
				if _, err := fsm.Resume(cfg, last).Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				want := max(91*time.Second, 20*time.Second+dead)
				for _, e := range rec.events {
					if e.Kind == "action_start" {
						if got := e.Time.Sub(begun); got != want {
							t.Errorf("it asked again after %s, want %s", got, want)
						}
						break
					}
				}
				if n := count(rec.events, "rate_limit_exhausted"); n != 1 {
					t.Errorf("%d times exhausted, want once:\n%s", n, show(rec.events))
				}
			})
		})
	}
}

// A limit that lasted without a route ends the run so that it can be resumed: the prompt is sent again.
func TestALimitWithoutARouteCanBeResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec, out, _ := waitCase(t, "prompt-rate-limit-next", func(*fsm.Config) {})
		if !out.Limited || out.TerminatedBy != fsm.EndError {
			t.Fatalf("outcome %+v", out)
		}
		loop := loadTrace(t, "testdata/trace/prompt-rate-limit-next.yaml")
		again := &tape{}
		cfg, runner, _ := config(loop, again)
		loop.States["b"].Action = "out through"
		out, err := fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
		if err != nil || out.TerminatedBy != fsm.EndTerminal || out.Limited || len(runner.ran) != 1 {
			t.Errorf("outcome %+v, error %v, ran %v:\n%s", out, err, runner.ran, show(again.events))
		}
	})
}

// After loops stop, Ctrl-C or a timeout in a wait, status did not show it any more, though the resumed run did wait.
func TestAStoppedRunStillTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, trace string
		stop        *fsm.Stop
		circuit     time.Duration // another run is refused
		ended, why  string
	}{
		{"loops stop", "prompt-reset", &fsm.Stop{ByUser: true}, 0, fsm.EndUserStopped, fsm.WaitRateLimit},
		{"Ctrl-C", "prompt-reset", &fsm.Stop{Signal: "SIGINT"}, 0, fsm.EndInterrupted, fsm.WaitRateLimit},
		{
			"Ctrl-C while another run is refused", "prompt-reset", &fsm.Stop{Signal: "SIGINT"}, time.Hour,
			fsm.EndInterrupted, fsm.WaitCircuit,
		},
		{"a timeout", "timeout-loop-rate-limit", nil, 0, fsm.EndTimeout, fsm.WaitRateLimit},
		{
			"a timeout while another run is refused", "timeout-loop-rate-limit", nil, time.Hour, fsm.EndTimeout,
			fsm.WaitCircuit,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, "testdata/trace/"+c.trace+".yaml")
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				if c.circuit > 0 {
					cfg.Circuit = &circuit{until: time.Now().Add(c.circuit)}
				}
				ctx, stop := context.WithCancelCause(ctx)
				defer stop(nil)
				if c.stop != nil {
					time.AfterFunc(20*time.Second, func() { stop(c.stop) })
				}
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
				if err != nil || out.TerminatedBy != c.ended {
					t.Fatalf("ended by %s, error %v, want %s", out.TerminatedBy, err, c.ended)
				}
				last := rec.saved[len(rec.saved)-1]
				if w := last.Waiting(); w == nil || w.Why != c.why || !w.Until.After(time.Now()) {
					t.Errorf("it waits for %+v, want %s until later:\n%s", w, c.why, show(rec.events))
				}
			})
		})
	}
}

// A purse says that it is full until a time, and is so until another one.
type purse struct{ until, room time.Time }

func (p purse) Full(context.Context) (string, time.Time) {
	if time.Now().Before(p.room) {
		return "enough was spent", p.until
	}
	return "", time.Time{}
}

func (purse) Spent(float64) error { return nil }

// TestPromptsWaitForRoomToSpend: a prompt begins when there is room, looked for every few seconds, and the clock of the
// loop is paused until then.
func TestPromptsWaitForRoomToSpend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// until when it says that it is full, after how long it is not any more, and when the prompt begins
		full, room, want time.Duration
	}{
		"there is room":             {0, 0, 0},
		"the hour goes by":          {time.Hour, time.Hour, time.Hour},
		"the limit is raised":       {time.Hour, 7 * time.Second, 10 * time.Second},
		"for longer than a run has": {20 * time.Hour, 20 * time.Hour, 20 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				rec, out, _ := waitCase(t, "prompt-rate-limit", func(cfg *fsm.Config) {
					cfg.Purse, cfg.Loop.Timeout = purse{begun.Add(c.full), begun.Add(c.room)}, 2*time.Hour
				})
				if out.TerminatedBy == fsm.EndTimeout {
					t.Error("the wait used up the time of the loop")
				}
				for _, e := range rec.events {
					if e.Kind == "action_start" {
						if got := e.Time.Sub(begun).Round(time.Second); got != c.want {
							t.Errorf("the first prompt began after %s, want %s:\n%s", got, c.want, show(rec.events))
						}
						return
					}
				}
				t.Errorf("no prompt began:\n%s", show(rec.events))
			})
		})
	}
}
