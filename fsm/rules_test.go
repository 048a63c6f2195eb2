package fsm_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A run whose next state was taken out of its loop ends with an error that names it, and starts nothing.
func TestNextStateIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, _, _ := config(loadTrace(t, "testdata/trace/stays.yaml"), &tape{})
		out, err := fsm.Resume(cfg, &fsm.Snapshot{
			Loop: "stays", Phase: fsm.PhasePending, Current: "gone", Previous: "a", Step: 1, JustRouted: true, StartedAt: time.Now(), Context: value.NewMap(),
		}).Run(t.Context())
		if err != nil || out.TerminatedBy != fsm.EndError || !strings.Contains(out.Error, `"gone"`) || out.Steps != 1 {
			t.Errorf("it ended by %+v, %v", out, err)
		}
	})
}

// A run whose folder is gone ends before the next state, and can be resumed.
func TestWorkdirIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &tape{}
		loop := loadTrace(t, "testdata/trace/stays.yaml")
		cfg, _, _ := config(loop, rec)
		cfg.Dir = "/project"
		cfg.Gone = func(string) bool { return len(rec.saved) > 2 }
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(t.Context())
		if err != nil || out.TerminatedBy != fsm.EndWorkdirVanished || !out.Retriable() || !strings.Contains(out.Error, "/project") || out.Steps == 0 {
			t.Errorf("it ended by %+v, %v", out, err)
		}
	})
}

// What a state with branches comes to, what becomes of each branch, and how long it takes.
func TestJoins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, keys, end, ends, took string }{
		{"any: the first yes wins and stops the others", "parallel: {a: {action: exit 1}, b: {action: sleep 1s}, c: {action: sleep 9s}}\n    join: any", "yes", "a no, b yes, c stopped", "1s"},
		{"any: without a yes it is no", "parallel: {a: {action: exit 1}, b: {action: sleep 1s; exit 1}}\n    join: any", "no", "a no, b no", "1s"},
		{"all: the first failure stops the others", "parallel: {a: {action: sleep 1s; exit 1}, b: {action: sleep 9s}, c: {action: out}}", "partial", "c yes, a no, b stopped", "1s"},
		{"all: none begins after a failure", "parallel: {a: {action: exit 1}, b: {action: out}}\n    max_parallel: 1", "no", "a no", "0s"},
		{"all, on_branch_failure: continue", "parallel: {a: {action: sleep 1s; exit 1}, b: {action: sleep 3s}}\n    on_branch_failure: continue", "partial", "a no, b yes", "3s"},
		{"settled waits for all", "parallel: {a: {action: exit 1}, b: {action: sleep 2s}}\n    join: settled", "partial", "a no, b yes", "2s"},
		{"all that come to yes are a yes", "parallel: {a: {action: out}, b: {action: sleep 2s}}", "yes", "a yes, b yes", "2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop := loadLoop(t, fmt.Sprintf(`name: joins
initial: work
states:
  work:
    %s
    on_yes: "yes"
    on_no: "no"
    on_partial: partial
    on_error: error
  "yes": {terminal: true}
  "no": {terminal: true}
  partial: {terminal: true}
  error: {terminal: true}
`, c.keys))
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var ends []string
				for _, e := range rec.events {
					if e.Kind == fsm.EventBranchEnd {
						ends = append(ends, fmt.Sprint(e.Get("branch"), " ", e.Get("verdict")))
					}
				}
				if got, took := strings.Join(ends, ", "), time.Since(begun).String(); out.FinalState != c.end || got != c.ends || took != c.took {
					t.Errorf("it ended in %s after %s with %s, want %s after %s with %s", out.FinalState, took, got, c.end, c.took, c.ends)
				}
			})
		})
	}
}
