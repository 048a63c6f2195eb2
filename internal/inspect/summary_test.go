package inspect

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// randomEvents makes events of one run in any order: of itself, its sub-loops, branches and items, also such
// that no run leaves.
func randomEvents(r *rand.Rand) []fsm.Event {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	used := func() []fsm.Field {
		f := []fsm.Field{
			{Key: "input_tokens", Value: r.Int64N(3) * 70},
			{Key: "cache_read_tokens", Value: r.Int64N(2)},
			{Key: "duration_ms", Value: r.Int64N(9000)},
		}
		if r.IntN(2) == 0 {
			f = append(f, fsm.Field{Key: "cost_usd", Value: r.Float64()})
		}
		return append(f, fsm.Field{Key: "model", Value: pick("a", "b", "")},
			fsm.Field{Key: "host", Value: pick("claude", "codex", "")},
			fsm.Field{Key: "coverage", Value: pick(fsm.CoverageComplete, "")},
			fsm.Field{Key: "failure", Value: pick("", "", "", string(fsm.FailMissing), string(fsm.FailAuth))})
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var events []fsm.Event
	for range r.IntN(40) {
		at = at.Add(time.Duration(r.Int64N(1e10)))
		e := fsm.Event{Seq: uint64(len(events) + 1), Time: at, Depth: r.IntN(3)}
		set := func(key string, v any) { e.Fields = append(e.Fields, fsm.Field{Key: key, Value: v}) }
		switch e.Kind = pick(fsm.EventLoopStart, fsm.EventLoopResume, fsm.EventStateEnter, fsm.EventStateEnter,
			fsm.EventStateEnter, fsm.EventActionComplete, fsm.EventActionComplete, fsm.EventActionKilled,
			fsm.EventEvaluate, fsm.EventEvaluate, fsm.EventBranchEnd, fsm.EventItemEnd, fsm.EventLoopComplete); e.Kind {
		case fsm.EventStateEnter:
			set("state", pick("fix", "review", "test", "lint"))
			set("iteration", r.Int64N(4))
			set("resumed", r.IntN(5) == 0)
		case fsm.EventActionComplete, fsm.EventActionKilled:
			set("exit_code", r.Int64N(2))
			set("is_prompt", r.IntN(2) == 0)
			e.Fields = append(e.Fields, used()...)
		case fsm.EventEvaluate:
			set("type", pick("exit_code", "llm"))
			set("verdict", pick("yes", "no", ""))
			if r.IntN(2) == 0 {
				m := value.NewMap()
				for _, f := range used() {
					m.Set(f.Key, f.Value)
				}
				set("judges", []any{m})
			}
		case fsm.EventItemEnd:
			set("item", r.Int64N(2))
		case fsm.EventLoopStart, fsm.EventLoopResume:
			set("loop", pick("outer", "inner"))
		}
		if r.IntN(3) == 0 {
			set("branch", pick("a", "b", "a/#1", "#1"))
			e.Depth++
		}
		events = append(events, e)
	}
	return events
}

// sums returns what is added up of runs: of visits, costs, and the states inside.
func sums(t *Tally, costs []Cost, inside []string) string {
	var text string
	for _, s := range t.States() {
		slices.Sort(s.times)
		text += fmt.Sprintln(s.Path, s.Evaluator, s.Visits, s.Runs, s.Failed, s.Verdicts, s.times)
	}
	return text + fmt.Sprintf("%+v\n%v\n", costs, inside)
}

// What is added up of summaries that were kept as text is what is added up of all events, to the last digit.
func TestSummaryIsWhatEventsSay(t *testing.T) {
	t.Parallel()
	prices := func(model string, u fsm.Usage) (float64, bool) { return float64(u.Input) / 3e6, model == "a" }
	var runs [][]fsm.Event
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		_, events := read(t, name)
		runs = append(runs, events)
	}
	for seed := range uint64(3000) {
		runs = append(runs, randomEvents(rand.New(rand.NewPCG(seed, 37))))
	}
	for at := 0; at < len(runs); at += 5 {
		var direct, kept Tally
		var costs [2][]Cost
		var inside [2][]string
		for run, events := range runs[at:min(at+5, len(runs))] {
			add := func(v *Visit) { direct.Add(run, v) }
			visits, sheet, summary := Reader{Done: add, Inside: add}, CostSheet{Prices: prices}, NewSummaryReader()
			var names []string
			for _, e := range events {
				visits.Add(e)
				sheet.Add(e)
				summary.Add(e)
				if name := str(e, "state"); e.Kind == fsm.EventStateEnter && e.Depth > 0 &&
					!slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			visits.Close()
			slices.Sort(names)
			made := summary.Close(true, nil)
			again, ok := ParseSummary(made.Text())
			if !ok || again.Text() != made.Text() {
				t.Fatalf("run %d: %q is read as %+v", at+run, made.Text(), again)
			}
			kept.AddRun(run, &again)
			costs[0], costs[1] = append(costs[0], sheet.Total), append(costs[1], again.Cost(prices))
			inside[0], inside[1] = append(inside[0], fmt.Sprint(names)), append(inside[1], fmt.Sprint(again.inside))
			for _, name := range []string{"fix", "review", "nowhere"} {
				if again.WasInside(name) != slices.Contains(names, name) {
					t.Errorf("run %d: whether it was inside %s is %v", at+run, name, again.WasInside(name))
				}
			}
		}
		if got, want := sums(&kept, costs[1], inside[1]), sums(&direct, costs[0], inside[0]); got != want {
			t.Fatalf("runs %d to %d: the summaries say\n%s\nthe events\n%s", at, at+4, got, want)
		}
	}
}

// What another version wrote, and what is cut short, is no summary.
func TestSummaryOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := NewSummaryReader()
	for _, e := range randomEvents(rand.New(rand.NewPCG(7, 37))) {
		s.Add(e)
	}
	text := s.Close(true, nil).Text()
	for n := range len(text) {
		if got, ok := ParseSummary(text[:n]); ok {
			t.Errorf("%d bytes of %d are read as %+v", n, len(text), got)
		}
	}
	if _, ok := ParseSummary(string(rune(summaryFormat+1)) + text[1:]); ok {
		t.Error("the text of another version is read")
	}
	if empty, ok := ParseSummary((&Summary{}).Text()); !ok || !reflect.DeepEqual(empty.Cost(nil), Cost{}) {
		t.Errorf("a run without events is read as %+v", empty)
	}
}
