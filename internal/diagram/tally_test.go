package diagram_test

import (
	"slices"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/diagram"
)

// TestTally counts a run with a sub-loop that was interrupted and went on an hour later.
func TestTally(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var tally diagram.Tally
	for _, e := range []struct {
		after time.Duration
		kind  string
		depth int
		field fsm.Field
	}{
		{0, "loop_start", 0, fsm.Field{}},
		{0, "state_enter", 0, fsm.Field{Key: "state", Value: "a"}},
		{2 * time.Second, "route", 0, fsm.Field{}},
		{0, "state_enter", 0, fsm.Field{Key: "state", Value: "sub"}},
		{time.Second, "state_enter", 1, fsm.Field{Key: "state", Value: "a"}},
		{time.Second, "loop_complete", 1, fsm.Field{Key: "final_state", Value: "b"}},
		{time.Hour, "loop_resume", 0, fsm.Field{}},
		{0, "state_enter", 0, fsm.Field{Key: "state", Value: "sub"}},
		{3 * time.Second, "route", 0, fsm.Field{}},
		{0, "state_enter", 0, fsm.Field{Key: "state", Value: "a"}},
		{time.Second, "state_enter", 0, fsm.Field{Key: "state", Value: "a"}},
		{time.Second, "state_enter", 0, fsm.Field{Key: "state", Value: "sub"}},
		{0, "loop_complete", 0, fsm.Field{Key: "final_state", Value: "done"}},
	} {
		at = at.Add(e.after)
		tally.Add(fsm.Event{Kind: e.kind, Time: at, Depth: e.depth, Fields: []fsm.Field{e.field}})
	}
	if want := []string{"a", "sub", "done"}; !slices.Equal(tally.Order, want) || tally.Current() != "done" {
		t.Errorf("states %q, now %q", tally.Order, tally.Current())
	}
	want := []diagram.Step{{From: "a", To: "sub", Times: 2}, {From: "sub", To: "a", Times: 1}, {From: "a", To: "a", Times: 1}, {From: "sub", To: "done", Times: 1}}
	if !slices.Equal(tally.Taken, want) {
		t.Errorf("ways %+v", tally.Taken)
	}
	for state, want := range map[string]struct {
		visits int
		spent  time.Duration
	}{"a": {3, 4 * time.Second}, "sub": {2, 5 * time.Second}, "done": {1, 0}, "b": {0, 0}} {
		if tally.Visits(state) != want.visits || tally.Time(state) != want.spent {
			t.Errorf("%s: %d visits, %v", state, tally.Visits(state), tally.Time(state))
		}
	}
}
