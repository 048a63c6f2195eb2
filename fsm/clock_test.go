package fsm_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// A user pauses, continues and extends a run, as the commands of the program do.
type user struct {
	mu      sync.Mutex
	hold    chan struct{}
	changed chan struct{}
	raises  []fsm.Raise
}

// watched returns a user whose commands the run sees.
func watched(cfg *fsm.Config) *user {
	u := &user{changed: make(chan struct{})}
	cfg.Held = func() <-chan struct{} {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.hold
	}
	cfg.HeldBy = func() string { return "ada" }
	spins := cfg.Changed
	cfg.Changed = func() <-chan struct{} {
		spins()
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.changed
	}
	cfg.Raise = func(after uint64) (uint64, fsm.Raise, string, bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if after >= uint64(len(u.raises)) {
			return 0, fsm.Raise{}, "", false
		}
		return after + 1, u.raises[after], "ada", true
	}
	return u
}

func (u *user) does(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
	close(u.changed)
	u.changed = make(chan struct{})
}

// pause pauses the run at one time from now, and continues it at another one.
func (u *user) pause(from, to time.Duration) {
	time.AfterFunc(from, func() { u.does(func() { u.hold = make(chan struct{}) }) })
	time.AfterFunc(to, func() {
		u.does(func() {
			close(u.hold)
			u.hold = nil
		})
	})
}

func (u *user) extend(at, by time.Duration) {
	time.AfterFunc(at, func() { u.does(func() { u.raises = append(u.raises, fsm.Raise{Time: by}) }) })
}

// loadLoops reads loops that call each other; the first one is the run's.
func loadLoops(t *testing.T, texts ...string) (*fsm.Loop, shelf) {
	t.Helper()
	dir, library := t.TempDir(), shelf{}
	file := func(text string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "name: "), "\n")
		return filepath.Join(dir, name+".yaml")
	}
	for _, text := range texts {
		if err := os.WriteFile(file(text), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var first *fsm.Loop
	for i, text := range texts {
		loop := loadTrace(t, file(text))
		if library[loop.Name] = loop; i == 0 {
			first = loop
		}
	}
	return first, library
}

// A run was paused while one branch waited for that and another one ended. After `unpause` the clock of the run
// was 292 years off: no limit fired any more, and the record could not be read. (37 1.1)
func TestPauseBesideATaskThatEnds(t *testing.T) {
	t.Parallel()
	const (
		two = "name: two\ninitial: a\nstates:\n  a: {action: sleep 2s, next: b}\n" +
			"  b: {action: sleep 2s, next: done}\n  done: {terminal: true}\n"
		tail = "\n    on_yes: after\n    on_no: failed\n  after: {action: sleep 1s, next: done}\n" +
			"  done: {terminal: true}\n  failed: {terminal: true}\n"
		outer = "name: outer\ninitial: in\nstates:\n  in: {loop: two, on_yes: done, on_no: done, on_error: done}\n" +
			"  done: {terminal: true}\n"
	)
	one := "name: one\ninitial: a\nparameters:\n  n: {type: integer, required: true}\nstates:\n" +
		"  a: {action: \"sleep ${context.n}s\", next: b}\n  b: {action: sleep 2s, next: done}\n" +
		"  done: {terminal: true}\n"
	head := func(limits string) string { return "name: top\n" + limits + "initial: work\nstates:\n  work:\n    " }
	for name, c := range map[string]struct {
		loop string
	}{
		"branch":                     {"parallel: {a: {loop: two}, b: {action: sleep 6s}}"},
		"branches that wait in turn": {"parallel: {a: {loop: two}, b: {action: sleep 6s}, c: {loop: outer}}"},
		"item": {"for_each: [2, 6]\n    parallel: 2\n    loop: one\n" +
			"    with: {n: \"${item.value}\"}"},
		"sub-loop of a branch": {"parallel: {a: {loop: outer}, b: {action: sleep 6s}}"},
	} {
		for end, limits := range map[string]string{
			fsm.EndTerminal: "", fsm.EndTimeout: "timeout: 7\n",
			fsm.EndBudget: "budget: {wall: 7}\n",
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop, library := loadLoops(t, head(limits)+c.loop+tail, two, outer, one)
					rec := &tape{}
					cfg, _, _ := config(loop, rec)
					cfg.Library, cfg.Verify = library, true
					watched(&cfg).pause(time.Second, 8*time.Second)
					begun := time.Now()
					out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
					if err != nil || out.TerminatedBy != end {
						t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
					}
					took := time.Since(begun)
					if want := took - 2*time.Second; out.Duration != want { // from 6 s to 8 s nothing was at work
						t.Errorf("the used time is %s, want %s", out.Duration, want)
					}
					last := time.Duration(0)
					for _, m := range rec.saved {
						if m.Elapsed < last {
							t.Errorf("the used time was %s, and then %s", last, m.Elapsed)
						}
						last = m.Elapsed
					}
				})
			})
		}
	}
}

// An item whose wait was over used the time of the run while it waited for its place, which an item had that
// waited for money: the run ended by its timeout, and nothing had been at work.
func TestWaitingForAPlaceUsesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, library := loadLoops(t,
			"name: top\ninitial: work\ntimeout: 10\nstates:\n  work: {for_each: [x, y], loop: one, on_yes: done, "+
				"on_no: failed}\n  done: {terminal: true}\n  failed: {terminal: true}\n",
			"name: one\ninitial: rest\nstates:\n  rest: {wait: {for: 1s}, next: ask}\n"+
				"  ask: {action_type: prompt, action: out x, next: done}\n  done: {terminal: true}\n")
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		begun := time.Now()
		cfg.Library, cfg.Verify, cfg.Purse = library, true, purse{begun.Add(time.Minute), begun.Add(time.Minute)}
		out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
		if err != nil || out.TerminatedBy != fsm.EndTerminal || out.Duration > 2*time.Second ||
			time.Since(begun) < time.Minute {
			t.Fatalf("%+v after %s, %v\n%s", out, time.Since(begun), err, show(rec.events))
		}
	})
}

// The time of a run was up, and a branch that had waited for money beside another one began again and again,
// for as long as it had waited.
func TestTimeoutBesideABranchThatStoodStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, _ := loadLoops(t,
			"name: top\ninitial: work\ntimeout: 45\nstates:\n  work:\n    parallel: {a: {wait: {for: 90s}}, b: "+
				"{action_type: prompt, action: exit 7, evaluate: {type: exit_code}, retry: {times: 3, "+
				"backoff: 20s}}}\n"+
				"    join: settled\n    on_yes: done\n    on_no: done\n  done: {terminal: true}\n")
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		begun := time.Now()
		cfg.Verify, cfg.Purse = true, purse{begun.Add(40 * time.Second), begun.Add(40 * time.Second)}
		out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
		if err != nil || out.TerminatedBy != fsm.EndTimeout || time.Since(begun) > 46*time.Second {
			t.Fatalf("%+v after %s, %v\n%s", out, time.Since(begun), err, show(rec.events))
		}
		out, err = fsm.Resume(cfg, rec.last()).Run(context.Background()) // with the same limit
		if err != nil || out.TerminatedBy != fsm.EndTimeout {
			t.Fatalf("%+v, %v\n%s", out, err, show(rec.events))
		}
	})
}

// A branch was cut by the timeout of its run while another one acted on; the run was extended meanwhile, and
// ended as interrupted.
func TestExtendAfterABranchWasCut(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]string{
		"branches": "parallel: {a: {wait: {for: 30s}}, b: {action: sleep 20s}}\n    join: settled",
		"items": "for_each: [\"rest\", \"sleep\"]\n    parallel: 2\n    on_item_failure: continue\n" +
			"    loop: \"${item.value}\"",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loop, library := loadLoops(t, "name: top\ninitial: work\ntimeout: 10\nstates:\n  work:\n    "+work+
					"\n    on_yes: done\n    on_no: failed\n  done: {terminal: true}\n  failed: {terminal: true}\n",
					"name: rest\ninitial: a\nstates:\n  a: {wait: {for: 30s}, next: done}\n  done: {terminal: true}\n",
					"name: sleep\ninitial: a\nstates:\n  a: {action: sleep 20s, next: done}\n"+
						"  done: {terminal: true}\n")
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				cfg.Library, cfg.Verify = library, true
				watched(&cfg).extend(15*time.Second, 100*time.Second)
				begun := time.Now()
				out, err := fsm.Start(cfg, loop.Context.Clone(), begun).Run(context.Background())
				if err != nil || out.TerminatedBy != fsm.EndTerminal || out.FinalState != "done" ||
					time.Since(begun) > 51*time.Second {
					t.Fatalf("%+v after %s, %v\n%s", out, time.Since(begun), err, show(rec.events))
				}
			})
		})
	}
}
