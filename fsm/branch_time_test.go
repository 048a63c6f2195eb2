package fsm_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// timedLoop is a loop whose parallel state has a timeout. It ends in late if that was up, and says what came of
// the branches.
func timedLoop(work string) string {
	return `name: top
initial: before
states:
  before: {action: sleep 3s, next: work}
  work:
` + work + `
    on_yes: done
    on_partial: late
    on_no: late
  done: {terminal: true}
  late: {terminal: true, message: "${captured.work.a.verdict} ${captured.work.b.verdict} ${captured.work.b.error:default=-}"}
`
}

const twoInTurn = "    parallel: {a: {action: sleep 6s}, b: {action: sleep 6s}}\n    max_parallel: 1\n    timeout: 8\n"

// The timeout of a parallel state began again when the run was killed and resumed: two branches of 6 s had 8 s,
// and came to `yes`. (37 1.7)
func TestTimeoutOfBranchesAfterAKill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		killed, took time.Duration // since the run began, and of the resumed run
		message      string
	}{
		// the record is of 9 s, when b began
		{10500 * time.Millisecond, 2 * time.Second, "yes error the time of the state was up"},
		{4 * time.Second, 8 * time.Second, "yes error the time of the state was up"}, // that of 3 s
	} {
		t.Run(fmt.Sprint(c.killed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, timedLoop(twoInTurn))
				rec := &tape{}
				cfg, runner, ctx := config(loop, rec)
				var killed *fsm.Snapshot
				time.AfterFunc(c.killed, func() {
					killed = clone(rec.last())
					runner.stop(&fsm.Stop{})
				})
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
					t.Fatal(err)
				}
				again := &tape{}
				cfg.Recorder = again
				begun := time.Now()
				out, err := fsm.Resume(cfg, killed).Run(context.Background())
				if took := time.Since(begun); err != nil || out.Message != c.message || took != c.took {
					t.Errorf("the resumed run took %s, want %s: %+v, %v\n%s", took, c.took, out, err,
						show(again.events))
				}
				if m := again.saved[len(again.saved)-1]; m.VisitBegan != 0 {
					t.Errorf("the visit is over, and is remembered to have begun at %s", m.VisitBegan)
				}
			})
		})
	}
}

// A former version did not record when the visit began: what its branches at work took counts.
func TestTimeoutOfBranchesInAnOldRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, timedLoop(twoInTurn))
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		time.AfterFunc(5*time.Second, func() { runner.stop(&fsm.Stop{}) })
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
			t.Fatal(err)
		}
		old := clone(rec.saved[len(rec.saved)-1])
		old.VisitBegan = 0
		begun := time.Now()
		out, err := fsm.Resume(cfg, old).Run(context.Background())
		// a had used 2 s of 8 s
		if took := time.Since(begun); err != nil || out.FinalState != "late" || took != 6*time.Second {
			t.Errorf("the resumed run took %s: %+v, %v", took, out, err)
		}
	})
}

// A time that is up on record ends the branches that were at work, and begins no others.
func TestTimeoutOfBranchesThatIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, timedLoop(twoInTurn))
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		time.AfterFunc(10*time.Second, func() { runner.stop(&fsm.Stop{}) })
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
			t.Fatal(err)
		}
		stopped := clone(rec.saved[len(rec.saved)-1])
		loop.States["work"].Timeout = time.Second
		second := &fake{}
		cfg.Runner = second
		out, err := fsm.Resume(cfg, stopped).Run(context.Background())
		if err != nil || out.Message != "yes error the time of the state was up" || len(second.ran) != 0 {
			t.Errorf("%+v, %v, ran %v", out, err, second.ran)
		}
	})
}

// The timeout of a parallel state fired while the run was paused, and began again after it. (37 1.7)
func TestTimeoutOfBranchesAndAPause(t *testing.T) {
	t.Parallel()
	const two = "name: two\ninitial: a\nstates:\n  a: {action: sleep 2s, next: b}\n" +
		"  b: {action: sleep 2s, next: done}\n  done: {terminal: true}\n"
	for name, c := range map[string]struct {
		work string
		end  string
		took time.Duration // from the beginning of the run, with a pause from 4 s to 60 s
	}{
		"all wait": {
			"    parallel: {a: {loop: two}, b: {loop: two}}\n    timeout: 5", "done",
			62 * time.Second,
		},
		"none is at work": {"    parallel: {a: {action: sleep 3s}, b: {action: sleep 3s}}\n" +
			"    max_parallel: 1\n    timeout: 5", "late", 62 * time.Second},
		"one works on": {
			"    parallel: {a: {loop: two}, b: {action: sleep 9s}}\n    timeout: 5", "late",
			8 * time.Second,
		},
		"one works till it ends": {
			"    parallel: {a: {loop: two}, b: {action: sleep 4s}}\n    timeout: 5", "late",
			61 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t, timedLoop(c.work), two)
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Library = library
				watched(&cfg).pause(4*time.Second, time.Minute)
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				if err != nil || out.FinalState != c.end {
					t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("it took %s, want %s\n%s", took, c.took, show(rec.events))
				}
			})
		})
	}
}
