package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// guarded does items, and notes for each which starts its action was told of. Those that hang end with the context.
type guarded struct {
	mu    sync.Mutex
	told  map[string][]int
	hangs map[string]bool
	fails map[string]bool
	rec   *ledger
	wrong func(item string, told, want int) // nil: what is told is not compared with the record
}

func (g *guarded) Run(ctx context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	g.mu.Lock()
	g.told[a.Text] = append(g.told[a.Text], a.Started)
	g.mu.Unlock()
	if want := g.recorded(a.Text); g.wrong != nil && a.Started != want {
		g.wrong(a.Text, a.Started, want)
	}
	if g.hangs[a.Text] {
		<-ctx.Done()
		return fsm.Result{}, ctx.Err()
	}
	if g.fails[a.Text] {
		return fsm.Result{ExitCode: 1}, nil
	}
	return fsm.Result{}, nil
}

// recorded returns how many starts of an item are on record.
func (g *guarded) recorded(item string) (n int) {
	if g.rec == nil {
		return 0
	}
	for _, ev := range g.rec.events {
		if ev.Kind == fsm.EventItemStart && ev.Get("key") == item {
			n++
		}
	}
	return n
}

const guardedLoop = `name: list
initial: work
states:
  work: {for_each: [a, b, c, d], action: "${item.value}", on_item_failure: continue, next: done}
  done: {terminal: true}
`

// An item is told which start of it this is, however often the run was resumed before the item began: after a
// stop, a kill, and where its failed items are done again.
func TestAnItemIsToldItsOwnStart(t *testing.T) {
	t.Parallel()
	type part struct {
		hangs, fails string
		again        fsm.ItemsAgain
	}
	for name, c := range map[string]struct {
		parts []part
		want  map[string][]int
	}{
		"stopped in b": {
			[]part{{hangs: "b"}, {}},
			map[string][]int{"a": {1}, "b": {1, 2}, "c": {1}, "d": {1}},
		},
		"stopped three times, twice in b and once in c": {
			[]part{{hangs: "b"}, {hangs: "b"}, {hangs: "c"}, {}},
			map[string][]int{"a": {1}, "b": {1, 2, 3}, "c": {1, 2}, "d": {1}},
		},
		"a that failed is done again, c was cut short": {
			[]part{{hangs: "c", fails: "a"}, {again: fsm.ItemsAgain{Failed: true}}},
			map[string][]int{"a": {1, 1}, "b": {1}, "c": {1, 2}, "d": {1}},
		},
		"resumed with rerun": {
			[]part{
				{hangs: "b"},
				{hangs: "b", again: fsm.ItemsAgain{Interrupted: true}},
				{again: fsm.ItemsAgain{Interrupted: true}},
			},
			map[string][]int{"a": {1}, "b": {1, 2, 3}, "c": {1}, "d": {1}},
		},
	} {
		for _, every := range []int{0, 1} {
			t.Run(fmt.Sprint(name, ", every ", every), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := loadLoop(t, guardedLoop)
					rec, told := &ledger{}, map[string][]int{}
					var out fsm.Outcome
					for i, p := range c.parts {
						cfg, _, _ := config(loop, rec)
						cfg.History, cfg.EndsEvery, cfg.Again = rec.history, every, p.again
						cfg.Runner = &guarded{
							told: told, hangs: map[string]bool{p.hangs: true},
							fails: map[string]bool{p.fails: true},
						}
						ctx, cancel := context.WithCancelCause(context.Background())
						x := fsm.Start(cfg, loop.Context.Clone(), time.Now())
						if i > 0 {
							x = fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1]))
						}
						go func() {
							synctest.Wait()
							cancel(&fsm.Stop{})
						}()
						var err error
						if out, err = x.Run(ctx); err != nil {
							t.Fatal(err)
						}
					}
					if out.TerminatedBy != fsm.EndTerminal ||
						!maps.EqualFunc(told, c.want, func(a, b []int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
						t.Errorf("the starts were %v, want %v; the run ended as %+v", told, c.want, out)
					}
				})
			})
		}
	}
}

// Each try that item_retries gives an item was told that it is the first start.
func TestATryOfAnItemIsToldItsStart(t *testing.T) {
	t.Parallel()
	loop := loadLoop(t, strings.Replace(guardedLoop, "action:", "item_retries: 2, action:", 1))
	rec, told := &ledger{}, map[string][]int{}
	cfg, _, _ := config(loop, rec)
	cfg.History, cfg.Runner = rec.history, &guarded{told: told, fails: map[string]bool{"b": true}}
	if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := "map[a:[1] b:[1 2 3] c:[1] d:[1]]"; fmt.Sprint(told) != want {
		t.Errorf("the starts were %v, want %s", told, want)
	}
}

// A process that dies at any record of a list, and again when the run is resumed, leaves a run that tells each
// item how many of its starts are on record.
func TestStartsOfItemsAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for variant := range 10 * 16 * 3 * 2 {
			die, again, every := 2+variant%10, variant/10%16, []int{0, 1, 3}[variant/160%3]
			loop, fails := loadLoop(t, guardedLoop), map[string]bool{}
			if variant >= 480 {
				loop, fails["b"] = loadLoop(t, strings.Replace(guardedLoop, "action:", "item_retries: 2, action:",
					1)), true
			}
			rec, told := &ledger{dieAt: die, after: again%2 == 0}, map[string][]int{}
			for i := range 3 {
				cfg, _, _ := config(loop, rec)
				cfg.History, cfg.EndsEvery, cfg.Runner = rec.history, every,
					&guarded{told: told, fails: fails, rec: rec, wrong: func(item string, told, want int) {
						t.Errorf("records %d and %d lost, every %d: %s was told start %d, want %d", die, again, every,
							item, told, want)
					}}
				x := fsm.Start(cfg, loop.Context.Clone(), time.Now())
				if i > 0 {
					x = fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1]))
				}
				_, err := x.Run(context.Background())
				if err == nil {
					break
				}
				if !errors.Is(err, errDied) {
					t.Fatal(err)
				}
				if rec.dieAt = rec.n + 1 + again/2; i == 1 {
					rec.dieAt = 0
				}
			}
		}
	})
}

// What an older version recorded of an item that began says that it was started once.
func TestStartOfAnItemThatAnOlderVersionBegan(t *testing.T) {
	t.Parallel()
	loop := loadLoop(t, guardedLoop)
	rec, told := &ledger{}, map[string][]int{}
	cfg, _, _ := config(loop, rec)
	cfg.History, cfg.Runner = rec.history, &guarded{told: told}
	mem := &fsm.Snapshot{
		Loop: "list", Phase: fsm.PhaseActing, Current: "work", Step: 1, Attempt: 3, StartedAt: time.Now(),
		Context: value.NewMap(), Captured: value.NewMap(),
		Items: &fsm.Items{
			State: "work", Step: 1, List: `["a", "b", "c", "d"]`, Count: 4,
			Ends: map[string]string{"1/1": "yb"},
		},
	}
	if _, err := fsm.Resume(cfg, mem).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := "map[b:[2] c:[1] d:[1]]"; fmt.Sprint(told) != want {
		t.Errorf("the starts were %v, want %s", told, want)
	}
}
