package fsm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

const branchLoop = `name: branches
initial: work
states:
  work:
    parallel: {a: {action: a 0}, b: {action: b 1}, c: {action: c 0}, d: {action: d 0}}
    max_parallel: 2
    on_branch_failure: continue
    on_yes: failed
    on_partial: done
    on_no: failed
  done: {terminal: true, message: "${captured.work.failed}, ${captured.work.a.output} ${captured.work.b.exit_code} ${captured.work.d.verdict}"}
  failed: {terminal: true}
`

// A process that dies at any record of branches leaves a run that does what lacks an end, never repeats a
// branch whose end is on record, and ends as the unbroken run does.
func TestBranchesAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, branchLoop)
		whole := &ledger{}
		cfg, _, _ := config(loop, whole)
		unbroken := &workers{ended: map[string]int{}}
		cfg.Runner, cfg.History, cfg.Verify = unbroken, whole.history, true
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if unbroken.top != 2 || want.FinalState != "done" || want.Message != "b, did a 0 1 yes" {
			t.Fatalf("the unbroken run had %d at once and ended with %+v", unbroken.top, want)
		}
		resumed := 0
		for die := 2; die <= whole.n; die++ {
			for _, after := range []bool{false, true} {
				rec := &ledger{dieAt: die, after: after}
				cfg.Recorder, cfg.History = rec, rec.history
				cfg.Runner = &workers{ended: map[string]int{}}
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(
					err, errDied) {
					if err == nil && (rec.n < die || after && rec.n == die) {
						continue // branches that end together share records, and how many do differs
					}
					t.Fatalf("record %d lost: the run was carried further: %v", die, err)
				}
				last := len(rec.saved) - 1
				if last < 0 || rec.saved[last].Outcome != nil {
					continue
				}
				ended := map[string]bool{}
				for _, e := range rec.events {
					if name, ok := e.Get("branch").(string); ok && e.Kind == fsm.EventBranchEnd {
						ended[name+" 0"], ended[name+" 1"] = true, true
					}
				}
				rec.dieAt = 0
				second := &workers{ended: map[string]int{}}
				cfg.Runner = second
				got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				resumed++
				if got.FinalState != want.FinalState || got.Message != want.Message {
					t.Errorf("record %d lost: it ended as %+v, want %+v", die, got, want)
				}
				for name, times := range second.ended {
					if ended[name] || times > 1 {
						t.Errorf("record %d lost: branch %s was done %d times by the resumed run; it had ended: %v",
							die, name, times, ended[name])
					}
				}
			}
		}
		if resumed < 20 {
			t.Errorf("only %d deaths left a run to resume", resumed)
		}
	})
}
