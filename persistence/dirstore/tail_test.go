package dirstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// Lines longer than what is read at once, a torn one at the end, and parts: all of it comes, the newest first, and no
// more is read than is wanted.
func TestTail(t *testing.T) {
	t.Parallel()
	d, err := dirstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.PartSize, d.Durability = 200_000, persistence.None
	j, err := d.Create(t.Context(), persistence.Spec{Loop: "x", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	id := j.Run().ID
	var want []string
	for n := range 40 {
		text := fmt.Sprint(n, strings.Repeat(" and on", n*n*20))
		e := fsm.Event{Kind: "note", Time: time.Now(), Fields: []fsm.Field{{Key: "message", Value: text}}}
		m := &fsm.Snapshot{
			Loop: "x", Phase: fsm.PhaseActing, Current: "a", Step: n + 1, Captured: value.NewMap(),
			Context: value.NewMap(),
		}
		if err := j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{e}, Snapshot: m}); err != nil {
			t.Fatal(err)
		}
		want = append([]string{text}, want...)
	}
	var got []string
	for e, err := range d.Tail(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Get("message")))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d events backwards, want %d in their order", len(got), len(want))
	}
	for e, err := range d.Tail(t.Context(), id) {
		if err != nil || e.Seq != uint64(len(want)) {
			t.Errorf("the newest is event %d, %v, want %d", e.Seq, err, len(want))
		}
		break
	}
	for _, err := range d.Tail(t.Context(), "x-20200101T000000") {
		if !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("of an unknown run: %v", err)
		}
	}
}
