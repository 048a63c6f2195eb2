package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

// A ledger records a run until the process dies: at its nth record, before or after that is on record.
type ledger struct {
	tape
	n, dieAt int
	after    bool
	asked    []uint64 // behind which events the history was read
}

func (l *ledger) Record(ctx context.Context, b *fsm.Batch) error {
	l.n++
	if l.n == l.dieAt && !l.after {
		return errDied
	}
	if err := l.tape.Record(ctx, b); err != nil {
		return err
	}
	if l.n == l.dieAt {
		return errDied
	}
	return nil
}

func (l *ledger) history(_ context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	l.asked = append(l.asked, after)
	events := slices.Clone(l.events[min(after, uint64(len(l.events))):])
	return func(yield func(fsm.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// workers do items: each exits with the number that its text names.
type workers struct {
	mu       sync.Mutex
	ended    map[string]int
	now, top int
}

func (w *workers) Run(ctx context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	w.mu.Lock()
	w.now++
	w.top = max(w.top, w.now)
	w.mu.Unlock()
	// the work of an item; no two end at once
	testenv.Pass(time.Millisecond + time.Duration(a.Text[0]-'a')*100*time.Microsecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
	if ctx.Err() != nil {
		return fsm.Result{}, ctx.Err()
	}
	var code int
	name := a.Text
	if _, err := fmt.Sscanf(a.Text[strings.IndexByte(a.Text, ' ')+1:], "%d", &code); err != nil {
		return fsm.Result{}, err
	}
	w.ended[name]++
	return fsm.Result{ExitCode: code, Stdout: "did " + name + "\n"}, nil
}

const listLoop = `name: list
initial: work
states:
  work:
    for_each: [a 0, b 1, c 0, d 0, a 0, e 7]
    parallel: 2
    on_item_failure: continue
    action: ${item.value}
    capture: got
    on_yes: done
    on_partial: done
    on_no: failed
  done: {terminal: true, message: "${captured.got.failed} / ${captured.got.output}"}
  failed: {terminal: true}
`

// A process that dies at any record of a list leaves a run that does what lacks an end, repeats at most what
// was at work, and ends as the unbroken run does.
func TestListAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, listLoop)
		whole := &ledger{}
		cfg, _, _ := config(loop, whole)
		unbroken := &workers{ended: map[string]int{}}
		cfg.Runner, cfg.History = unbroken, whole.history
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if unbroken.top != 2 || want.FinalState != "done" || !strings.HasPrefix(want.Message, "b 1\ne 7 / [") ||
			strings.Count(want.Message, "\n") != 8 {
			t.Fatalf("the unbroken run had %d at once and ended with %+v", unbroken.top, want)
		}
		if !strings.Contains(want.Message, `"key": "a 0#2"`) {
			t.Errorf("the second item of the same text has no number: %s", want.Message)
		}
		taken := false // in by the memory: the history was not read from its beginning
		for die := 2; die <= whole.n; die++ {
			for _, c := range []struct {
				after bool
				every int
			}{{false, 0}, {true, 0}, {false, 1}, {true, 1}, {false, 3}, {true, 3}} {
				after := c.after
				cfg.EndsEvery = c.every
				rec := &ledger{dieAt: die, after: after}
				cfg.Recorder, cfg.History = rec, rec.history
				first := &workers{ended: map[string]int{}}
				cfg.Runner = first
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(
					err, errDied) {
					if err == nil && (rec.n < die || after && rec.n == die) {
						continue // it ended before: ends that come together share a record, and how many do differs
					}
					t.Fatalf("record %d lost: the run was carried further: %v", die, err)
				}
				last := len(rec.saved) - 1
				if last < 0 || rec.saved[last].Outcome != nil {
					continue
				}
				ended := 0
				for _, e := range rec.events {
					if e.Kind == fsm.EventItemEnd {
						ended++
					}
				}
				rec.dieAt, rec.asked = 0, nil
				second := &workers{ended: map[string]int{}}
				cfg.Runner = second
				got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if got.FinalState != want.FinalState || withoutTimes(got.Message) != withoutTimes(want.Message) {
					t.Errorf("record %d lost: it ended as %+v, want %+v", die, got, want)
				}
				if items := rec.saved[last].Items; items != nil && len(items.Ends) > 0 {
					taken = true
					if rec.asked[0] != items.Through || items.Through <= items.Since {
						t.Errorf("record %d lost: the history was read behind event %d, and the memory "+
							"has all up to %d", die, rec.asked[0], items.Through)
					}
				}
				n := 0
				for _, times := range second.ended {
					n += times
				}
				if n != 6-ended {
					t.Errorf("record %d lost: %d items had ended, and %d were done again", die, ended, n)
				}
			}
		}
		if !taken {
			t.Error("no memory had taken in which items had ended")
		}
	})
}

// The items that a memory has taken in as failed, or as cut short, are done again where that is asked for, and
// no others; and what one that was done again comes to is what the list of results has.
func TestItemsAgainFromTheMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, strings.Replace(listLoop, "on_item_failure", "idempotent: false\n    on_item_failure", 1))
		rec := &ledger{}
		cfg, _, _ := config(loop, rec)
		cfg.History, cfg.EndsEvery, cfg.Verify = rec.history, 1, true
		rec.dieAt = 6
		cfg.Runner = &workers{ended: map[string]int{}}
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err,
			errDied) {
			t.Fatal(err)
		}
		for again, want := range map[fsm.ItemsAgain]string{
			{}:                  "no",
			{Failed: true}:      "yes",
			{Interrupted: true}: "no",
		} {
			next := &ledger{tape: tape{
				seq: rec.seq, events: slices.Clone(rec.events), saved: slices.Clone(rec.saved),
				points: slices.Clone(rec.points), hard: slices.Clone(rec.hard),
			}}
			cfg.Recorder, cfg.History, cfg.Again = next, next.history, again
			once := strings.Replace(listLoop, "action: ${item.value}", "idempotent: false\n    action: a 0", 1)
			cfg.Loop, cfg.Runner = loadLoop(t, once), &workers{ended: map[string]int{}}
			got, err := fsm.Resume(cfg, clone(rec.saved[len(rec.saved)-1])).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var b string
			for line := range strings.Lines(got.Message) {
				if strings.Contains(line, `"key": "b 1"`) {
					_, b, _ = strings.Cut(line, `"verdict": "`)
					b, _, _ = strings.Cut(b, `"`)
				}
			}
			if cut := strings.Contains(got.Message, `"verdict": "interrupted"`); cut == again.Interrupted {
				t.Errorf("%+v: an item was cut short: %v in %s", again, cut, got.Message)
			}
			if b != want {
				t.Errorf("%+v: item b came to %q, want %q in %s", again, b, want, got.Message)
			}
		}
	})
}

// A run of slow items that dies has not forgotten how long it took, whatever the number of items that ended.
func TestSlowItemsCountWhenTheProcessDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, listLoop)
		rec := &ledger{dieAt: 7}
		cfg, _, _ := config(loop, rec)
		cfg.Runner, cfg.History = slow{&workers{ended: map[string]int{}}}, rec.history
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err,
			errDied) {
			t.Fatal(err)
		}
		began, at := rec.saved[0].StartedAt, time.Now()
		if took, kept := at.Sub(began), rec.saved[len(rec.saved)-1].Elapsed; took-kept > 13*time.Second ||
			took < 14*time.Second {
			t.Errorf("the run took %v, and remembers %v", took, kept)
		}
	})
}

// slow workers take six seconds for an item.
type slow struct{ *workers }

func (w slow) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	testenv.Pass(6 * time.Second)
	return w.workers.Run(ctx, a, out)
}

func withoutTimes(text string) string {
	for {
		head, tail, found := strings.Cut(text, `"duration_ms": `)
		if !found {
			return text
		}
		_, tail, _ = strings.Cut(tail, ",")
		text = head + tail
	}
}
