package inspect_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// events makes a history of words: an event a word, of depth 1 behind a >, with its state and step behind colons.
func events(words string) (es []fsm.Event) {
	for i, w := range strings.Fields(words) {
		e := fsm.Event{Seq: uint64(i + 1)}
		if inner, ok := strings.CutPrefix(w, ">"); ok {
			w, e.Depth = inner, 1
		}
		parts := strings.Split(w, ":")
		e.Kind = parts[0]
		if len(parts) > 2 {
			n, _ := strconv.Atoi(parts[2])
			e.Fields = append(e.Fields, fsm.Field{Key: "state", Value: parts[1]},
				fsm.Field{Key: "iteration", Value: int64(n)})
		}
		if len(parts) > 3 {
			e.Fields = append(e.Fields, fsm.Field{Key: parts[3], Value: true})
		}
		es = append(es, e)
	}
	return es
}

func TestPoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, events, want string }{
		{
			"actions and decisions", "loop_start state_enter:a:1 action_start action_output action_complete route " +
				"state_enter:b:2 evaluate route",
			"1 a [2] started done 5; 2 b [7] done 8",
		},
		{
			"what is inside a sub-loop is no step, but something that came of one",
			"loop_start state_enter:a:1 >loop_start >state_enter:x:1 >action_start >loop_complete route " +
				"state_enter:b:2",
			"1 a [2] done 3; 2 b [8]",
		},
		{
			"a visit that was resumed is the same visit",
			"loop_start state_enter:a:1 action_start loop_complete loop_resume state_enter:a:1:resumed action_start " +
				"action_complete",
			"1 a [2] started done 8",
		},
		{
			"a handler of a cap", "loop_start state_enter:a:1 action_start action_complete route max_steps_summary " +
				"state_enter:h:2 action_start",
			"1 a [2] started done 4; 2 h [7] started handler",
		},
		{
			"events from the middle of a visit", ">action_complete action_complete route state_enter:b:2 route",
			"2 b [4] done 5",
		},
		{
			"a state that a cap let act once more", "state_enter:a:1 route state_enter:b:2:flushed action_start",
			"1 a [1] done 2; 2 b [3] started",
		},
		{
			"a maintain loop that starts over has a step without a state",
			"state_enter:a:1 route route state_enter:a:3",
			"1 a [1] done 2; 3 a [4]",
		},
	} {
		var track inspect.ForkTrack
		var points []*inspect.ForkPoint
		for _, e := range events(c.events) {
			if p := track.Add(e); p != nil && !slices.Contains(points, p) {
				points = append(points, p)
			}
		}
		var got []string
		for _, p := range points {
			s := fmt.Sprintf("%d %s [%d]", p.Step, p.State, p.Seq)
			if p.Started {
				s += " started"
			}
			if p.Done > 0 {
				s += fmt.Sprint(" done ", p.Done)
			}
			if p.Handler {
				s += " handler"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	point := inspect.ForkPoint{Step: 3, State: "b", Seq: 10, Done: 14}
	pending := func() *fsm.Snapshot {
		return &fsm.Snapshot{
			Phase: fsm.PhasePending, Current: "b", Previous: "b", Step: 2,
			Retries: map[string]int{"b": 1},
		}
	}
	acting := func() *fsm.Snapshot {
		return &fsm.Snapshot{
			Phase: fsm.PhaseActing, Current: "b", Previous: "b", Step: 3, Attempt: 1,
			Retries: map[string]int{"b": 2},
		}
	}
	for _, c := range []struct {
		name          string
		point         inspect.ForkPoint
		before, after inspect.Recorded
		want          string
	}{
		{
			"chosen and on record", point,
			inspect.Recorded{9, pending()},
			inspect.Recorded{12, acting()},
			"step 2 b after b, 1 retries",
		},
		{
			"entered, not acted", point,
			inspect.Recorded{9, nil},
			inspect.Recorded{12, acting()},
			"step 2 b after , 2 retries",
		},
		{
			"on record when something had come of it", point,
			inspect.Recorded{},
			inspect.Recorded{14, acting()},
			"unknown",
		},
		{
			"of another state",
			inspect.ForkPoint{Step: 3, State: "c"},
			inspect.Recorded{9, pending()},
			inspect.Recorded{12, acting()},
			"unknown",
		},
		{
			"of another step",
			inspect.ForkPoint{Step: 4, State: "b"},
			inspect.Recorded{9, pending()},
			inspect.Recorded{12, acting()},
			"unknown",
		},
		{"nothing on record", point, inspect.Recorded{}, inspect.Recorded{}, "unknown"},
		{
			"the handler of a cap", point,
			inspect.Recorded{},
			inspect.Recorded{12, &fsm.Snapshot{Phase: fsm.PhaseActing, Current: "b", Step: 3, StepsCapped: true}},
			"unknown",
		},
		{
			"started a second time", point,
			inspect.Recorded{},
			inspect.Recorded{12, &fsm.Snapshot{Phase: fsm.PhaseActing, Current: "b", Step: 3, Attempt: 2}},
			"unknown",
		},
		{
			"the first step needs the context only",
			inspect.ForkPoint{Step: 1, State: "b", Seq: 2, Done: 3},
			inspect.Recorded{},
			inspect.Recorded{
				9,
				&fsm.Snapshot{Phase: fsm.PhaseActing, Current: "c", Step: 4, Context: value.NewMap()},
			},
			"step 0 b after , 0 retries",
		},
	} {
		got := "unknown"
		if m := c.point.Memory(c.before, c.after); m != nil {
			got = fmt.Sprintf("step %d %s after %s, %d retries", m.Step, m.Current, m.Previous, m.Retries["b"])
			if m.Phase != fsm.PhasePending || m.Attempt != 0 {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
