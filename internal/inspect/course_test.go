package inspect

import (
	"slices"
	"testing"
	"time"

	"loops/fsm"
)

// TestCourse counts a run with a sub-loop that was interrupted and continued an hour later.
func TestCourse(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var course Course
	var visits Reader
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
		{time.Second, "route", 0, fsm.Field{}},
		{time.Hour, "state_enter", 0, fsm.Field{Key: "state", Value: "a"}}, // the loop pauses between states
		{time.Second, "route", 0, fsm.Field{}},
		{0, "state_enter", 0, fsm.Field{Key: "state", Value: "sub"}},
		{0, "loop_complete", 0, fsm.Field{Key: "final_state", Value: "done"}},
	} {
		at = at.Add(e.after)
		event := fsm.Event{Kind: e.kind, Time: at, Depth: e.depth, Fields: []fsm.Field{e.field}}
		course.Add(event, visits.Add(event))
	}
	if want := []string{"a", "sub", "done"}; !slices.Equal(course.Order, want) || course.Current() != "done" {
		t.Errorf("states %q, now %q", course.Order, course.Current())
	}
	want := []Edge{
		{From: "a", To: "sub", Times: 2},
		{From: "sub", To: "a", Times: 1},
		{From: "a", To: "a", Times: 1},
		{From: "sub", To: "done", Times: 1},
	}
	if !slices.Equal(course.Taken, want) {
		t.Errorf("ways %+v", course.Taken)
	}
	for state, want := range map[string]struct {
		visits int
		spent  time.Duration
	}{"a": {3, 4 * time.Second}, "sub": {2, 5 * time.Second}, "done": {1, 0}, "b": {0, 0}} {
		if course.Visits(state) != want.visits || course.Time(state) != want.spent {
			t.Errorf("%s: %d visits, %v", state, course.Visits(state), course.Time(state))
		}
	}
}
