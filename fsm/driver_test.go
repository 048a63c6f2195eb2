package fsm_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// bell is Config.Changed as the engine has it (engine/notice.go).
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

func (b *bell) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// lateBox is an inbox to which a signal comes while it is being read, behind what the reader sees.
type lateBox struct {
	post
	bell *bell
	once sync.Once
}

func (l *lateBox) Signals(ctx context.Context, name string, after uint64) ([]fsm.Signal, error) {
	list, err := l.post.Signals(ctx, name, after)
	l.once.Do(func() { l.send(fsm.Signal{N: 1, Name: "go"}); l.bell.ring() })
	return list, err
}

func TestSignalWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, awaitingLoop)
		loop.States["ready"].Await = &fsm.Await{Event: "go"}
		rec, b := &tape{}, &bell{}
		cfg, _, ctx := config(loop, rec)
		cfg.Inbox, cfg.Changed = &lateBox{bell: b}, b.changed
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if took := time.Since(begin); err != nil || out.FinalState != "done" || took > time.Second {
			t.Errorf("the signal was taken after %s: %+v, %v", took, out, err)
		}
	})
}

const besideLoop = `name: beside
initial: both
states:
  both:
    parallel:
      long: {loop: waits}
      busy: {action: "sleep 10s"}
    next: done
  done: {terminal: true}
`

const longWait = `name: waits
initial: ready
states:
  ready: {wait: {for: 10h}, next: done}
  done: {terminal: true}
`

// A pause is asked for while the end of the other branch is being recorded: the wait must show it (and its
// clock must stop).
func TestPauseWhileAnotherBranchEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, library := loadLoops(t, besideLoop, longWait)
		b := &bell{}
		var held chan struct{}
		rec := &tape{}
		cfg, _, ctx := config(loop, rec)
		cfg.Library, cfg.Changed = library, b.changed
		cfg.Held = func() <-chan struct{} { return held }
		asked := time.Duration(0)
		begin := time.Now()
		cfg.Observe = func(ev fsm.Event) {
			// the driver is between step and select
			if ev.Kind == fsm.EventActionComplete && held == nil && asked == 0 {
				held, asked = make(chan struct{}), time.Since(begin)
				b.ring()
			}
		}
		paused := time.Duration(0)
		obs := cfg.Observe
		cfg.Observe = func(ev fsm.Event) {
			obs(ev)
			if ev.Kind == fsm.EventNote && ev.Get("message") == "paused" && ev.Get("state") == "ready" && paused == 0 {
				paused = time.Since(begin)
				h := held
				time.AfterFunc(time.Minute, func() { synctest.Wait(); held = nil; close(h) })
			}
		}
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if asked == 0 || paused == 0 || paused > asked+2*time.Minute {
			t.Errorf("pause asked after %s, the wait paused after %s (0 = never): ended %+v %v after %s", asked,
				paused, out.TerminatedBy, err, time.Since(begin))
		}
	})
}

const flushOuter = `name: outer
initial: both
timeout: 300
budget: {prompts: 1}
states:
  both:
    parallel:
      slow: {action: "sleep 10m", action_type: prompt}
      capped: {loop: capped}
    on_branch_failure: continue
    on_yes: done
    on_partial: done
    on_no: done
  done: {terminal: true}
`

const flushCapped = `name: capped
initial: first
max_steps: 1
on_max_steps: over
states:
  first: {loop: short, on_yes: last, on_no: last}
  last: {action: "out x", action_type: prompt, next: over}
  over: {terminal: true}
`

const flushShort = `name: short
initial: a
states:
  a: {action: "sleep 1s", next: b}
  b: {terminal: true}
`

// A prompt that is flushed at a cap waits for what another prompt in flight leaves; meanwhile the time of the
// run is up.
func TestLastPromptWaitsBeyondTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, library := loadLoops(t, flushOuter, flushCapped, flushShort)
		rec := &tape{}
		cfg, _, ctx := config(loop, rec)
		cfg.Library = library
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if took := time.Since(begin); err != nil || out.TerminatedBy != fsm.EndBudget || took != 10*time.Minute {
			t.Errorf("%+v, %v after %s\n%s", out, err, took, show(rec.events))
		}
	})
}

// fullPurse is full for an hour; a user wakes the run while it is being asked for the third time.
type fullPurse struct {
	n    atomic.Int64
	wake chan struct{}
	till time.Time
}

func (p *fullPurse) Full(context.Context) (string, time.Time) {
	if p.n.Add(1) == 3 {
		p.wake <- struct{}{}
	}
	return "full", p.till
}
func (p *fullPurse) Spent(float64) error { return nil }

func TestRetryNowWhileThePurseIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, `name: pays
initial: a
states:
  a: {action: "out x", action_type: prompt, next: done}
  done: {terminal: true}
`)
		rec := &tape{}
		cfg, _, ctx := config(loop, rec)
		p := &fullPurse{wake: make(chan struct{}, 1), till: time.Now().Add(time.Hour)}
		cfg.Purse, cfg.Wake = p, p.wake
		begin := time.Now()
		_, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if took := time.Since(begin); err != nil || took > time.Minute {
			t.Errorf("retry-now was lost: it took %s, %v", took, err)
		}
	})
}

const allFailLoop = `name: fails
initial: work
states:
  work:
    for_each: [a, b, c]
    on_item_failure: continue
    action: "x ${context.missing}"
    on_yes: done
    on_partial: done
    on_no: failed
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`

// All items fail to begin: what the run remembered when it began the list is on record, so that the items can
// be done again in a fork.
func TestListThatFailsAtOnceIsOnRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, allFailLoop)
		rec := &ledger{}
		cfg, _, ctx := config(loop, rec)
		cfg.History = rec.history
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
		if err != nil || out.FinalState != "failed" {
			t.Fatalf("%+v %v", out, err)
		}
		begun := 0
		for i, ev := range rec.events {
			if ev.Kind == fsm.EventItemsStart {
				begun = i + 1
			}
		}
		for i, m := range rec.saved { // as Around of persistence.Store: the memory behind that event
			if rec.points[i] >= begun {
				if m.Items == nil || m.Phase != fsm.PhaseActing {
					t.Errorf("the first memory behind items_start is of state %s, phase %s, items %v:\n%s", m.Current,
						m.Phase, m.Items, show(rec.events))
				}
				return
			}
		}
	})
}

// Items that cannot begin are recorded one by one (or a few), and a stop counts between them.
func TestItemsThatCannotBeginAreRecordedInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = `name: many
initial: work
states:
  work:
    for_each: "${context.list}"
    on_item_failure: continue
    loop: nowhere
    on_yes: done
    on_partial: done
    on_no: failed
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`
		loop, _ := loadLoops(t, text, "name: nowhere\ninitial: a\nstates:\n  a: {terminal: true}\n")
		list := ""
		for range 20000 {
			list += "x\n"
		}
		loop.Context.Set("list", list)
		rec := &ledger{}
		cfg, _, ctx := config(loop, rec)
		cfg.Library, cfg.History = shelf{}, rec.history
		out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx)
		most, last := 0, 0
		for _, p := range rec.points {
			most = max(most, p-last)
			last = p
		}
		if most > 1000 {
			t.Errorf("%d events in one record (%d records): %s %v", most, len(rec.points), out.TerminatedBy, err)
		}
	})
}

// A Wake that is closed, as for a run in which nothing is waited for, does not keep the run from doing what takes time.
func TestClosedWakeBesideActions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, `name: two
initial: both
states:
  both:
    parallel:
      a: {action: "sleep 2s"}
      b: {action: "sleep 2s"}
    on_yes: done
    on_no: done
  done: {terminal: true}
`)
		cfg, _, ctx := config(loop, &tape{})
		wake := make(chan struct{})
		close(wake)
		cfg.Wake = wake
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if took := time.Since(begin); err != nil || out.FinalState != "done" || took != 2*time.Second {
			t.Errorf("%+v, %v after %s", out, err, took)
		}
	})
}
