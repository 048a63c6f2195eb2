package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

func itemEvent(kind string, n int64, key string, fields ...any) fsm.Event {
	e := fsm.Event{Kind: kind, Fields: []fsm.Field{{Key: "item", Value: n}, {Key: "key", Value: key}}}
	for i := 0; i < len(fields); i += 2 {
		e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
	}
	return e
}

// TestItems: each item of a list has its state, time, output and error, and those that failed can be asked for.
func TestItems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		only  string
		alive bool
		want  string
	}{
		{"", true, "1 a yes 1.5s [one …] [] | 2 b no 20ms [] [exit 1: no such font] | 3 c running  [] [] | 4 d " +
			"error  [] [timed out] | 5 e yes, taken over  [] [] | all 5 failed 2"},
		{"", false, "1 a yes 1.5s [one …] [] | 2 b no 20ms [] [exit 1: no such font] | 3 c cut short  [] [] | 4 d " +
			"error  [] [timed out] | 5 e yes, taken over  [] [] | all 5 failed 2"},
		{"failed", false, "2 b no 20ms [] [exit 1: no such font] | 4 d error  [] [timed out] | all 5 failed 2"},
	} {
		var table itemTable
		for _, e := range []fsm.Event{
			itemEvent(fsm.EventItemStart, 1, "a"), itemEvent(fsm.EventItemStart, 2, "b"),
			itemEvent(fsm.EventItemEnd, 2, "b", "verdict", "no", "duration_ms", int64(20), "exit_code", int64(1),
				"stderr_preview", "\x1b[31mno such font\x1b[0m\n"),
			itemEvent(fsm.EventItemStart, 3, "c"),
			itemEvent(fsm.EventItemEnd, 1, "a", "verdict", "yes", "duration_ms", int64(1500), "exit_code", int64(0),
				"output", "one\ntwo\n", "stderr_preview", "a warning"),
			itemEvent(fsm.EventItemEnd, 4, "d", "verdict", "error", "timeout_kind", "wall"),
			itemEvent(fsm.EventItemTaken, 5, "e", "verdict", "yes"),
		} {
			table.take(e)
		}
		table.show(func(items string) string { return "?items=" + items }, c.only, c.alive)
		var got []string
		for _, r := range table.Rows {
			got = append(got, fmt.Sprintf("%d %s %s %s [%s] [%s]", r.Number, r.Key, r.State, r.Took, r.Output, r.Error))
		}
		text := strings.Join(got, " | ")
		text += " |"
		for _, f := range table.Filters {
			text += fmt.Sprintf(" %s %d", f.Label, f.Count)
		}
		if text != c.want {
			t.Errorf("%q, alive %v:\n%s, want\n%s", c.only, c.alive, text, c.want)
		}
	}
}

// TestStepsSayWhatTheyPrinted: a step has the first line of its output; a list has how far it has come.
func TestStepsSayWhatTheyPrinted(t *testing.T) {
	t.Parallel()
	c := &chronicle{account: inspect.NewAccount(nil), words: map[string]string{}, said: map[int]string{}}
	c.account.Reader.Done = c.keep
	at := time.Date(2026, 11, 28, 11, 0, 0, 0, time.UTC)
	field := func(pairs ...any) (all []fsm.Field) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, fsm.Field{Key: pairs[i].(string), Value: pairs[i+1]})
		}
		return all
	}
	for i, e := range []fsm.Event{
		{Kind: fsm.EventStateEnter, Fields: field("state", "look", "iteration", int64(1))},
		{Kind: fsm.EventActionOutput, Fields: field("line", "\x1b[32mfirst\x1b[0m")},
		{Kind: fsm.EventActionOutput, Fields: field("line", "second")},
		{Kind: fsm.EventRoute, Fields: field("from", "look", "to", "each")},
		{Kind: fsm.EventStateEnter, Fields: field("state", "each", "iteration", int64(2))},
		{Kind: fsm.EventItemsStart, Fields: field("items", int64(3))},
		{Kind: fsm.EventActionOutput, Fields: field("line", "of an item")},
		{
			Kind: fsm.EventItemEnd,
			Fields: field("item", int64(1), "key", "a", "verdict", "no", "items", int64(3), "done", int64(1),
				"failed", int64(1)),
		},
		{Kind: fsm.EventStateEnter, Fields: field("state", "rest", "iteration", int64(3))},
	} {
		e.Seq, e.Time = uint64(i+1), at.Add(time.Duration(i)*time.Second) //nolint:gosec // it is small
		_, v := c.account.Take(e)
		c.listen(e, v)
	}
	if len(c.steps) != 2 || c.steps[0].said != "first" || c.steps[1].said != "1 of 3 items, 1 failed" {
		t.Errorf("the steps are %+v", c.steps)
	}
}

// TestMarks: a short timeline has seconds, a long one times of day.
func TestMarks(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 28, 11, 4, 42, 0, time.Local).UnixMilli()
	for _, c := range []struct {
		after, whole int64
		want         string
	}{
		{0, 1400, "11:04:42"},
		{2, 9, "+0.002 s"},
		{350, 1400, "+0.3 s"},
		{250, 500, "+0.25 s"},
		{45_000, 90_000, "+45 s"},
		{600_000, 1_200_000, "11:14:42"},
		{3 * 24 * 3600_000, 4 * 24 * 3600_000, "Dec 1 11:04"},
	} {
		if got := markOf(begin, c.after, c.whole); got != c.want {
			t.Errorf("%d of %d ms is %s, want %s", c.after, c.whole, got, c.want)
		}
	}
}
