package inspect

import (
	"testing"

	"loops/fsm"
)

// What a branch does beside one that works on a list does not hide how far that is; what it does after the list does.
func TestProgressBesideBranches(t *testing.T) {
	t.Parallel()
	event := func(kind, branch string, more ...fsm.Field) fsm.Event {
		if branch != "" {
			more = append(more, fsm.Field{Key: "branch", Value: branch})
		}
		return fsm.Event{Kind: kind, Fields: more}
	}
	end := func(branch string, done int64) fsm.Event {
		return event(fsm.EventItemEnd, branch, fsm.Field{Key: "done", Value: done},
			fsm.Field{Key: "items", Value: int64(9)}, fsm.Field{Key: "running", Value: int64(1)})
	}
	start := func(branch string) fsm.Event { return event(fsm.EventItemStart, branch) }
	for _, c := range []struct {
		name          string
		events        []fsm.Event // oldest first
		done, running int         // done < 0: no list
	}{
		{"alone", []fsm.Event{end("", 3), start("")}, 3, 2},
		{"left", []fsm.Event{end("", 9), event(fsm.EventRoute, "")}, -1, 0},
		{"beside a branch", []fsm.Event{
			end("x", 3), start("x"), event(fsm.EventStateEnter, "y"),
			event(fsm.EventRoute, "y"),
		}, 3, 2},
		{
			"its branch left it",
			[]fsm.Event{end("x", 9), event(fsm.EventRoute, "x"), event(fsm.EventStateEnter, "y")},
			-1, 0,
		},
		{"two lists", []fsm.Event{end("y", 5), end("x", 2), start("y"), event(fsm.EventRoute, "z"), start("x")}, 2, 2},
		{"of two lists one is left", []fsm.Event{end("y", 5), end("x", 9), event(fsm.EventRoute, "x")}, 5, 1},
		{"a branch inside", []fsm.Event{end("x/in", 5), event(fsm.EventRoute, "x")}, -1, 0},
		{"the branches were left", []fsm.Event{end("x", 5), event(fsm.EventRoute, "")}, -1, 0},
	} {
		var g Glance
		for i := len(c.events) - 1; i >= 0; i-- {
			g.items.add(c.events[i])
		}
		p := g.Items()
		if (p == nil) != (c.done < 0) || p != nil && (p.Done != c.done || p.Running != c.running) {
			t.Errorf("%s: %+v, want %d done and %d running", c.name, p, c.done, c.running)
		}
	}
}
