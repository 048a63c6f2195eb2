package fsm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A branch with idempotent: false that was cut short comes to interrupted when the run is resumed, and runs
// again where a user says so: at once, or after another process has given it that verdict.
func TestBranchThatMustNotBeRepeated(t *testing.T) {
	t.Parallel()
	const one = `name: one
initial: send
states:
  send: {action: send, idempotent: false, on_yes: done, on_no: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`
	for name, branch := range map[string]string{"action": "{action: send, idempotent: false}", "loop": "{loop: one}"} {
		for _, c := range []struct {
			name   string
			again  []bool // of each resume: rerun
			hangs  string // what is cut short again in each resume but the last
			want   string // the verdict of the branch
			starts int
		}{
			{"resumed", []bool{false}, "", "interrupted", 1},
			{"resumed with rerun", []bool{true}, "", "yes", 2},
			{"resumed, and then with rerun", []bool{false, true}, "other", "yes", 2},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop, library := loadLoops(t, `name: outer
initial: work
states:
  work: {parallel: {a: `+branch+`, b: {action: other}}, join: settled, capture: got, next: done}
  done: {terminal: true}
`, one)
					rec, told := &ledger{}, map[string][]int{}
					run := func(x func(fsm.Config) *fsm.Executor, rerun bool, hangs ...string) {
						cfg, _, _ := config(loop, rec)
						g := &guarded{told: told, hangs: map[string]bool{}}
						for _, h := range hangs {
							g.hangs[h] = true
						}
						cfg.Library, cfg.Runner, cfg.History, cfg.Again = library, g, rec.history,
							fsm.ItemsAgain{Interrupted: rerun}
						ctx, cancel := context.WithCancelCause(context.Background())
						go func() {
							synctest.Wait()
							cancel(&fsm.Stop{})
						}()
						if _, err := x(cfg).Run(ctx); err != nil {
							t.Fatal(err)
						}
					}
					run(func(cfg fsm.Config) *fsm.Executor {
						return fsm.Start(cfg, loop.Context.Clone(), time.Now())
					}, false, "send", "other")
					for i, rerun := range c.again {
						hangs := c.hangs
						if i == len(c.again)-1 {
							hangs = ""
						}
						run(func(cfg fsm.Config) *fsm.Executor {
							return fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1]))
						}, rerun, hangs)
					}
					last := rec.saved[len(rec.saved)-1]
					got, _ := last.Captured.Value("got").(*value.Map)
					a, _ := got.Value("a").(*value.Map)
					verdict, _ := a.Value("verdict").(string)
					if verdict != c.want || len(told["send"]) != c.starts ||
						last.Outcome.TerminatedBy != fsm.EndTerminal {
						t.Errorf("the branch came to %s after %d starts, want %s after %d; the run ended as %+v\n%s",
							verdict, len(told["send"]), c.want, c.starts, last.Outcome, show(rec.events))
					}
				})
			})
		}
	}
}
