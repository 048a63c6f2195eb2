package dirstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// TestRewindPastDamage spoils one line of a journal: what was remembered before it is known, what was
// remembered from it on is not, up to the next whole memory, with which a segment begins.
func TestRewindPastDamage(t *testing.T) {
	t.Parallel()
	d, err := dirstore.Open(filepath.Join(t.TempDir(), ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	spec := persistence.Spec{Loop: "fix", StartedAt: at}
	record := func(j persistence.Journal, from, to int) {
		t.Helper()
		for n := from; n <= to; n++ {
			s := &fsm.Snapshot{
				Loop: "fix", Phase: fsm.PhaseActing, Current: "a", Step: n, StartedAt: at,
				Captured: value.NewMap(), Context: value.NewMap(),
			}
			b := &fsm.Batch{
				Snapshot: s,
				Events: []fsm.Event{
					{
						Kind: "state_enter", Time: at,
						Fields: []fsm.Field{{Key: "note", Value: fmt.Sprintf("step<%d>", n)}},
					},
				},
			}
			if err := j.Record(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	j, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	id := j.Run().ID
	record(j, 1, 6)
	if j, _, err = d.Resume(t.Context(), id, spec); err != nil {
		t.Fatal(err)
	}
	record(j, 7, 9)

	runs, err := d.Runs(t.Context(), persistence.Query{ID: id})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	b, err := os.ReadFile(runs[0].Events)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runs[0].Events, bytes.Replace(b, []byte("step<4>"), []byte("step<x>"), 1), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	for seq, want := range []string{
		1: "0 1", 2: "1 2", 3: "2 3", 4: "damaged", 5: "damaged", 6: "damaged", 7: "damaged", 8: "7 8", 9: "8 9",
		10: "9 0",
	} {
		if want == "" {
			continue
		}
		before, after, err := d.Around(t.Context(), id, uint64(seq))
		got := fmt.Sprint(before.Seq, after.Seq)
		if _, ok := errors.AsType[*persistence.DamageError](err); ok {
			got = "damaged"
		} else if err != nil {
			t.Fatal(err)
		}
		if before.Memory != nil && before.Memory.Step != int(before.Seq) || after.Memory != nil &&
			after.Memory.Step != int(after.Seq) {
			t.Errorf("around event %d: %+v, %+v", seq, before.Memory, after.Memory)
		}
		if got != want {
			t.Errorf("around event %d: %s, want %s", seq, got, want)
		}
	}
}
