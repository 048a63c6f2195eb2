package inspect

import (
	"runtime"
	"slices"
	"testing"

	"loops/fsm"
)

// checkedList returns the events of a run with a list of n items, the newest first. The first item ends after
// all others, and the last one was done twice. The list was visited once before.
func checkedList(n int) []fsm.Event {
	event := func(kind string, fields ...fsm.Field) fsm.Event { return fsm.Event{Kind: kind, Fields: fields} }
	var all []fsm.Event
	visit := func(step int, output string) {
		all = append(all,
			event(fsm.EventStateEnter, fsm.Field{Key: "state", Value: "c"},
				fsm.Field{Key: "iteration", Value: int64(step)}))
		start := func(i int) {
			all = append(all, event(fsm.EventItemStart, fsm.Field{Key: "item", Value: int64(i)},
				fsm.Field{Key: "action", Value: "true"}))
		}
		end := func(i int, verdict string) {
			all = append(all,
				event(fsm.EventItemEnd, fsm.Field{Key: "item", Value: int64(i)},
					fsm.Field{Key: "verdict", Value: verdict}, fsm.Field{Key: "output", Value: output}))
		}
		start(1)
		for i := 2; i <= n; i++ {
			start(i)
			end(i, "no")
		}
		start(n)
		end(n, "yes")
		end(1, "yes")
		all = append(all, event(fsm.EventEvaluate, fsm.Field{Key: "type", Value: "for_each"},
			fsm.Field{Key: "verdict", Value: "yes"}, fsm.Field{Key: "check", Value: []any{}}))
	}
	all = append(all, event(fsm.EventLoopStart, fsm.Field{Key: "loop", Value: "l"}))
	visit(1, "before")
	visit(2, "now")
	slices.Reverse(all)
	return all
}

// A receipt has the newest items of a check, as they ended last.
func TestReceiptOfList(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 48, 49, 50, 51, 200} {
		checks, err := Deciding(true, nil, func(each func(fsm.Event) bool) error {
			for _, e := range checkedList(n) {
				if !each(e) {
					break
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var items, want []int
		for _, c := range checks {
			if c.Evaluator == "for_each" {
				continue
			}
			items = append(items, c.Item)
			if c.Output != OutputSHA256("now") || (c.Verdict == "yes") != (c.Item == n || c.Item == 1) {
				t.Errorf("of %d items, item %d came to %q", n, c.Item, c.Verdict)
			}
		}
		for i := max(1, n-mostChecks+2); i <= n; i++ {
			want = append(want, i)
		}
		if !slices.Equal(items, want) {
			t.Errorf("of %d items there are %v", n, items)
		}
	}
}

// The events of a long list are not held until its receipt is made: they took 20 MB of a run of 20,000 items.
func TestReceiptOfLongListHoldsLittle(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var most uint64
	before := heap()
	_, err := Deciding(false, nil, func(each func(fsm.Event) bool) error {
		for i := range 40_000 {
			each(fsm.Event{
				Kind:   fsm.EventItemEnd,
				Fields: []fsm.Field{{Key: "item", Value: int64(i)}, {Key: "output", Value: string(make([]byte, 100))}},
			})
			each(fsm.Event{Kind: fsm.EventItemStart, Fields: []fsm.Field{{Key: "item", Value: int64(i)}}})
		}
		most = heap()
		return nil
	})
	if err != nil || most > before+1<<20 {
		t.Errorf("%v, %d bytes are held", err, most-before)
	}
}
