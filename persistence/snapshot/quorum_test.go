package snapshot_test

import (
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/persistence/snapshot"
)

// A memory is in format 2 while it waits for several equal answers, in a sub-loop too, and no longer.
func TestFormatOfAQuorum(t *testing.T) {
	t.Parallel()
	inside := func(form string) *fsm.Snapshot {
		begin := time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)
		m := &fsm.Snapshot{Loop: "x", Current: "ask", Step: 1, StartedAt: begin}
		if form != "" {
			m.Awaiting = &fsm.Awaiting{State: "ask", Kind: fsm.AwaitAsk, Form: form, Since: begin, Next: begin}
		}
		return &fsm.Snapshot{
			Loop: "y", Current: "sub", Step: 1, StartedAt: begin,
			Child: &fsm.Child{Name: "x", Memory: m},
		}
	}
	enc, dec := snapshot.NewEncoder(texts{}), &snapshot.Decoder{}
	for i, c := range []struct {
		form  string
		newer bool
	}{{"", false}, {`{"choices": ["a"], "quorum": 2}`, true}, {"", false}, {`{"choices": ["a"]}`, false}} {
		write, take := enc.Patch, dec.Patch
		if i == 0 {
			write, take = enc.Whole, dec.Whole
		}
		line, err := write(inside(c.form))
		if err == nil {
			err = take(line)
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := dec.Snapshot(texts{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := snapshot.NewEncoder(texts{}).Whole(m)
		if err != nil || strings.Contains(string(whole), `"format": 2`) != c.newer {
			t.Errorf("%q: %v, %s", c.form, err, whole)
		}
	}
}
