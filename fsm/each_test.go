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
	"time"

	"loops/fsm"
)

// A ledger records a run until the process dies: at its nth record, before or after that is on record.
type ledger struct {
	tape
	n, dieAt int
	after    bool
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

func (l *ledger) history(context.Context) iter.Seq2[fsm.Event, error] {
	events := slices.Clone(l.events)
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
	time.Sleep(time.Millisecond)
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

// A process that dies at any record of a list leaves a run that does what lacks an end, repeats at most what was at work, and
// ends as the unbroken run does.
func TestListAtEveryLostRecord(t *testing.T) {
	loop := loadLoop(t, listLoop)
	whole := &ledger{}
	cfg, _, _ := config(loop, whole)
	unbroken := &workers{ended: map[string]int{}}
	cfg.Runner, cfg.History = unbroken, whole.history
	want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if unbroken.top != 2 || want.FinalState != "done" || !strings.HasPrefix(want.Message, "b 1\ne 7 / [") || strings.Count(want.Message, "\n") != 8 {
		t.Fatalf("the unbroken run had %d at once and ended with %+v", unbroken.top, want)
	}
	if !strings.Contains(want.Message, `"key": "a 0#2"`) {
		t.Errorf("the second item of the same text has no number: %s", want.Message)
	}
	for die := 2; die <= whole.n; die++ {
		for _, after := range []bool{false, true} {
			rec := &ledger{dieAt: die, after: after}
			cfg.Recorder, cfg.History = rec, rec.history
			first := &workers{ended: map[string]int{}}
			cfg.Runner = first
			if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err, errDied) {
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
			rec.dieAt = 0
			second := &workers{ended: map[string]int{}}
			cfg.Runner = second
			got, err := fsm.Resume(cfg, clone(rec.saved[last])).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got.FinalState != want.FinalState || withoutTimes(got.Message) != withoutTimes(want.Message) {
				t.Errorf("record %d lost: it ended as %+v, want %+v", die, got, want)
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
