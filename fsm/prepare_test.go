package fsm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// What a run needs is made once, for the run and not for its sub-loops, when it is durable that the run began
// and before anything is done.
func TestPrepare(t *testing.T) {
	t.Parallel()
	errNo := errors.New("it cannot be made")
	for _, c := range []struct {
		name    string
		err     error
		stop    bool
		want    error
		ended   string
		actions bool
	}{
		{name: "made", ended: fsm.EndTerminal, actions: true},
		{name: "cannot be made", err: errNo, want: errNo},
		{name: "stopped meanwhile", err: context.Canceled, stop: true, ended: fsm.EndInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, "testdata/trace/timeout-loop-subloop.yaml")
				rec := &tape{}
				cfg, runner, _ := config(loop, rec)
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				n := 0
				cfg.Prepare = func(context.Context) (fsm.Event, error) {
					n++
					if len(runner.ran) > 0 || len(rec.events) != 1 || rec.events[0].Kind != "loop_start" ||
						!rec.hard[len(rec.hard)-1] {
						t.Errorf("before it: %v, ran %v", show(rec.events), runner.ran)
					}
					if c.stop {
						cancel(&fsm.Stop{Signal: "SIGINT"})
					}
					return fsm.Event{Kind: "made"}, c.err
				}
				out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
				if !errors.Is(err, c.want) || out.TerminatedBy != c.ended || n != 1 ||
					(len(runner.ran) > 0) != c.actions {
					t.Errorf("%+v, %v; prepared %d times, ran %v", out, err, n, runner.ran)
				}
				if made := count(rec.events, "made"); (made == 1) != c.actions {
					t.Errorf("%d events of it:\n%s", made, show(rec.events))
				}
			})
		})
	}
}
