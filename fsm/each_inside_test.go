package fsm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

const insideLoop = `name: list
initial: work
states:
  work:
    for_each: [a 0, b 1, c 0, d 0, e 7]
    parallel: 2
    item_retries: 1
    on_item_failure: continue
    loop: one
    with: {text: "${item.value}"}
    capture: got
    on_yes: failed
    on_partial: done
    on_no: failed
  done: {terminal: true, message: "${captured.got.failed} / ${captured.got.output}"}
  failed: {terminal: true}
`

const insideOne = `name: one
initial: first
parameters:
  text: {type: string, required: true}
states:
  first: {action: "begin 0 ${context.text}", next: second}
  second: {action: "${context.text}", on_yes: done, on_no: failed}
  done: {terminal: true, message: "did ${context.text}"}
  failed: {terminal: true, failure: true}
`

// A process that dies at any record of a list of loops leaves a run that continues inside the items that had
// begun, does no action again whose result was followed, and ends as the unbroken run does.
func TestLoopsOfAListAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, library := loadLoops(t, insideLoop, insideOne)
		whole := &ledger{}
		cfg, _, _ := config(loop, whole)
		unbroken := &workers{ended: map[string]int{}}
		cfg.Runner, cfg.History, cfg.Library, cfg.Verify = unbroken, whole.history, library, true
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if unbroken.top != 2 || want.FinalState != "done" || !strings.HasPrefix(want.Message, "b 1\ne 7 / [") ||
			unbroken.ended["b 1"] != 2 || unbroken.ended["begin 0 c 0"] != 1 {
			t.Fatalf("the unbroken run had %d at once, did %v and ended with %+v", unbroken.top, unbroken.ended, want)
		}
		resumed := 0
		for die := 2; die <= whole.n; die++ {
			for _, after := range []bool{false, true} {
				rec := &ledger{dieAt: die, after: after}
				cfg.Recorder, cfg.History = rec, rec.history
				first := &workers{ended: map[string]int{}}
				cfg.Runner = first
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(
					err, errDied) {
					if err == nil {
						continue // items that end together share records, and how many do differs
					}
					t.Fatalf("record %d lost: the run was carried further: %v", die, err)
				}
				last := len(rec.saved) - 1
				if last < 0 || rec.saved[last].Outcome != nil {
					continue
				}
				for _, b := range rec.saved[last].Branches {
					if len(rec.saved[last].Branches) > 2 || b.End != nil {
						t.Errorf("record %d lost: the memory holds %d items that are not over, %+v", die,
							len(rec.saved[last].Branches), b)
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
				if got.FinalState != want.FinalState || stable(got.Message) != stable(want.Message) {
					t.Errorf("record %d lost: it ended as %+v, want %+v", die, got, want)
				}
				again := 0
				for name, times := range unbroken.ended {
					switch both := first.ended[name] + second.ended[name]; {
					case both < times:
						t.Errorf("record %d lost: %q was done %d times, want %d", die, name, both, times)
					case both > times:
						again += both - times
					}
				}
				if again > 2 {
					t.Errorf("record %d lost: %d actions were done again", die, again)
				}
			}
		}
		if resumed < 20 {
			t.Errorf("only %d deaths left a run to resume", resumed)
		}
	})
}

// stable is a list of results without how long they took.
func stable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		before, rest, _ := strings.Cut(line, `, "duration_ms": `)
		_, after, _ := strings.Cut(rest, ",")
		lines[i] = before + after
	}
	return strings.Join(lines, "\n")
}

// An item that waits frees its slot, and takes one again before it continues.
func TestItemsThatWaitShareSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, library := loadLoops(t,
			strings.NewReplacer("parallel: 2", "parallel: 1", "item_retries: 1", "item_retries: 0").Replace(insideLoop),
			strings.Replace(insideOne, "next: second}", "next: rest}\n  rest: {wait: {for: 50ms}, next: second}", 1))
		cfg, _, _ := config(loop, &tape{})
		w := &workers{ended: map[string]int{}}
		begun := &tape{}
		cfg.Runner, cfg.Recorder, cfg.Library, cfg.Verify = w, begun, library, true
		got, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil || got.FinalState != "done" {
			t.Fatal(got, err)
		}
		if w.top != 1 {
			t.Errorf("%d actions ran at once, want 1", w.top)
		}
		open, most := 0, 0
		for _, e := range begun.events {
			switch e.Kind {
			case fsm.EventItemStart:
				open++
				most = max(most, open)
			case fsm.EventItemEnd:
				open--
			}
		}
		if most < 3 {
			t.Errorf("at most %d items were open, so one that waits kept its slot", most)
		}
	})
}
