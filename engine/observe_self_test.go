package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loops/persistence"
)

// An observer that ended itself, or the engine, in its own call waited for itself, for ever.
func TestObserverEndsItself(t *testing.T) {
	t.Parallel()
	p := commanded(t, "dir")
	e := New(p, Options{})
	ended := make(chan int, 1)
	var calls atomic.Int32
	var end func()
	set := make(chan struct{})
	end = e.Observe(ObserverFunc(func(Notice) {
		<-set
		n := calls.Add(1)
		end()
		ended <- int(n)
	}))
	close(set)
	e.bus.tell(Said{})
	e.bus.tell(Said{})
	within(t, ended)
	closed := make(chan int, 1)
	e.Observe(ObserverFunc(func(Notice) {
		e.Close()
		closed <- 1
	}))
	e.bus.tell(Said{})
	within(t, closed)
	e.Close()
	if _, err := e.Records(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if n := calls.Load(); n > 2 {
		t.Errorf("it was called %d times", n)
	}
}

// within returns what comes from a channel.
func within(t *testing.T, c <-chan int) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("an observer waits for itself")
	}
}

// A start with a context that has ended began a run, and what named no run acted on the newest one.
func TestNothingBeginsUnasked(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		p := commanded(t, store)
		e := New(p, Options{})
		defer e.Close()
		over, cancel := context.WithCancelCause(t.Context())
		why := errors.New("not wanted any more")
		cancel(why)
		if _, err := e.Start(over, StartRequest{Loop: "commanded"}, nil); !errors.Is(err, why) {
			t.Errorf("%s: start: %v", store, err)
		}
		if records, err := e.Records(t.Context()); err == nil {
			if runs, err := records.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) > 0 {
				t.Errorf("%s: it recorded %v, %v", store, runs, err)
			}
		}
		run, err := e.Start(t.Context(), StartRequest{Loop: "commanded"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func(ctx context.Context) error{
			"stop": func(ctx context.Context) error {
				_, err := e.Control(ctx, "", Command{Kind: persistence.CommandStop})
				return err
			},
			"answer": func(ctx context.Context) error {
				_, err := e.Answer(ctx, "", Answer{Choice: "yes"})
				return err
			},
			"fork": func(ctx context.Context) error {
				_, err := e.Fork(ctx, ForkRequest{At: "1"}, nil)
				return err
			},
			"resume":   func(ctx context.Context) error { _, err := e.Resume(ctx, ResumeRequest{}, nil); return err },
			"question": func(ctx context.Context) error { _, err := e.Questions(ctx, ""); return err },
			"remove": func(ctx context.Context) error {
				_, err := e.Remove(ctx, RemoveRequest{Runs: []string{""}, Force: true})
				return err
			},
		} {
			if err := do(t.Context()); err == nil || !strings.Contains(err.Error(), "no run is named") {
				t.Errorf("%s: %s without an id: %v", store, what, err)
			}
		}
		if _, err := e.Control(t.Context(), run.ID(), Command{Kind: persistence.CommandStop}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Resume(t.Context(), ResumeRequest{}, nil); err == nil {
			t.Errorf("%s: resume without an id resumed a run", store)
		}
		if _, err := e.Resume(over, ResumeRequest{Run: string(run.ID())}, nil); !errors.Is(err, why) {
			t.Errorf("%s: resume: %v", store, err)
		}
	}
}
