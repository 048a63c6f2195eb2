package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

// Visits inside branches and items have addresses, times without pauses and gaps, and one visit for a step that
// was cut short.
func TestVisitsInside(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	var events []fsm.Event
	at := func(second int, kind string, depth int, branch string, fields ...any) {
		e := fsm.Event{
			Kind: kind, Depth: depth, Seq: uint64(len(events) + 1),
			Time: begin.Add(time.Duration(second) * time.Second),
		}
		for i := 0; i < len(fields); i += 2 {
			e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
		}
		if branch != "" {
			e.Fields = append(e.Fields, fsm.Field{Key: "branch", Value: branch})
		}
		events = append(events, e)
	}
	enter := func(second, depth int, branch, state string, step int64, more ...any) {
		at(second, fsm.EventStateEnter, depth, branch, append([]any{"state", state, "iteration", step}, more...)...)
	}
	at(0, fsm.EventLoopStart, 0, "", "loop", "big")
	enter(0, 0, "", "both", 1)
	at(0, fsm.EventBranchStart, 0, "a")
	at(0, fsm.EventBranchStart, 0, "b")
	at(0, fsm.EventLoopStart, 1, "a", "loop", "pair")
	enter(0, 1, "a", "one", 1)
	at(0, fsm.EventLoopStart, 1, "b", "loop", "big", "inline", true)
	enter(0, 1, "b", "b", 1)
	at(2, fsm.EventRoute, 1, "a", "from", "one", "to", "list")
	enter(2, 1, "a", "list", 2)
	at(2, fsm.EventItemStart, 1, "a", "item", int64(1), "key", "x")
	at(2, fsm.EventLoopStart, 2, "a/#1", "loop", "deep")
	enter(2, 2, "a/#1", "dig", 1)
	at(3, fsm.EventNote, 0, "", "wait", fsm.WaitPaused)
	at(13, fsm.EventNote, 0, "", "note", "unpaused")
	at(14, fsm.EventEvaluate, 1, "b", "type", "exit_code", "verdict", "no")
	at(14, fsm.EventLoopComplete, 1, "b", "final_state", "no")
	at(14, fsm.EventBranchEnd, 0, "b", "verdict", "no")
	at(114, fsm.EventLoopResume, 0, "", "loop", "big")
	enter(114, 0, "", "both", 1, "resumed", true)
	at(114, fsm.EventLoopResume, 1, "a", "loop", "pair")
	enter(114, 1, "a", "list", 2, "resumed", true)
	at(114, fsm.EventLoopResume, 2, "a/#1", "loop", "deep")
	enter(114, 2, "a/#1", "dig", 1, "resumed", true)
	at(116, fsm.EventLoopComplete, 2, "a/#1", "final_state", "done")
	at(116, fsm.EventItemEnd, 1, "a", "item", int64(1), "verdict", "yes")
	at(117, fsm.EventLoopComplete, 1, "a", "final_state", "done")
	at(117, fsm.EventBranchEnd, 0, "a", "verdict", "yes")
	enter(117, 0, "", "next", 2)

	var got []string
	add := func(v *Visit) {
		got = append(got, fmt.Sprintf("%s %s work=%s paused=%s gap=%s resumed=%d verdict=%s loop=%s", v.Number(),
			v.Path(), v.Work, v.Paused, v.Gap, v.Resumed, v.Verdict(), v.Loop))
	}
	r := Reader{Done: add, Inside: add}
	for _, e := range events {
		r.Add(e)
	}
	if len(r.lanes) > 0 {
		t.Errorf("%d lanes stay open", len(r.lanes))
	}
	r.Close()
	want := []string{
		"1/a/1 both > a > one work=2s paused=0s gap=0s resumed=0 verdict= loop=pair",
		"1/b/1 both > b work=4s paused=10s gap=0s resumed=0 verdict=no loop=big",
		"1/a/2/#1/1 both > a > list > dig work=2s paused=10s gap=1m42s resumed=1 verdict= loop=deep",
		"1/a/2 both > a > list work=3s paused=10s gap=1m42s resumed=1 verdict= loop=pair",
		"1 both work=7s paused=10s gap=1m40s resumed=1 verdict= loop=big",
		"2 next work=0s paused=0s gap=0s resumed=0 verdict= loop=big",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What is said of an item that ended was that nothing is recorded of its end, where items of two branches were
// asked for.
func TestItemsOfTwoBranches(t *testing.T) {
	t.Parallel()
	var events []fsm.Event
	at := func(kind string, depth int, branch string, fields ...any) {
		e := fsm.Event{
			Kind: kind, Depth: depth, Seq: uint64(len(events) + 1),
			Time: time.Date(2026, 11, 29, 8, 0, len(events), 0, time.UTC),
		}
		for i := 0; i < len(fields); i += 2 {
			e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
		}
		if branch != "" {
			e.Fields = append(e.Fields, fsm.Field{Key: "branch", Value: branch})
		}
		events = append(events, e)
	}
	at(fsm.EventLoopStart, 0, "", "loop", "big")
	at(fsm.EventStateEnter, 0, "", "state", "both", "iteration", int64(1))
	for _, b := range []string{"a", "b"} {
		at(fsm.EventBranchStart, 0, b)
		at(fsm.EventLoopStart, 1, b, "loop", "each")
		at(fsm.EventStateEnter, 1, b, "state", "list", "iteration", int64(1))
	}
	for _, b := range []string{"a", "b"} {
		at(fsm.EventItemStart, 1, b, "item", int64(1), "key", "p"+b)
	}
	at(fsm.EventItemEnd, 1, "a", "item", int64(1), "items", int64(2), "key", "pa", "verdict", "yes")
	at(fsm.EventItemStart, 1, "a", "item", int64(2), "key", "qa")
	story := &Story{Wanted: "1/1/#1"}
	reader := &Reader{Done: story.Add, Inside: story.AddInside, Each: story.Hear, Keep: true}
	for _, e := range events {
		reader.Add(e)
	}
	var said []string
	for _, part := range story.seen.beside {
		for _, s := range part.Said {
			said = append(said, s.Text)
		}
	}
	want := []string{"Item 1 of 2, pa: yes.", "Item 1, pb began; nothing is recorded of its end."}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}

// An event about a work tree is inside the branch of parallel that it names beside the branch of git; one that
// names only that of git is inside none.
func TestWorkTreesInsideBranches(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{fsm.EventWorktreeAttached, fsm.EventWorktreeDetached, fsm.EventWorktreeError} {
		e := fsm.Event{Kind: kind, Depth: 1, Fields: []fsm.Field{{Key: "branch", Value: "feat/x"}}}
		if in := InsideBranch(e); in != "" {
			t.Errorf("%s of a sub-loop is inside %q", kind, in)
		}
		e.Fields = []fsm.Field{{Key: "branch", Value: "a"}, {Key: "git_branch", Value: "feat/x"}}
		if in := InsideBranch(e); in != "a" {
			t.Errorf("%s inside branch a is inside %q", kind, in)
		}
	}
}
