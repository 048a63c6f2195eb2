package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/testenv"
	"loops/internal/view"
	"loops/persistence"
)

// recordRuns records runs that ended, with visits, prompts and states inside by chance.
func recordRuns(t *testing.T, p *project.Project, r *rand.Rand, from, n int) {
	t.Helper()
	store, err := p.Records(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	store.SetDurability("none")
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for i := range n {
		at := began.Add(time.Duration(from+i) * time.Minute)
		j, err := store.Create(t.Context(), persistence.Spec{
			Loop: []string{"fix", "check"}[r.IntN(2)], StartedAt: at,
			Definition: []byte("x"),
		})
		if err != nil {
			t.Fatal(err)
		}
		b := &fsm.Batch{Checkpoint: true, Snapshot: &fsm.Snapshot{
			Loop: j.Run().Loop, Phase: fsm.PhasePending, Current: "done", StartedAt: at, Context: value.NewMap(),
			Captured: value.NewMap(),
			Outcome:  &fsm.Outcome{TerminatedBy: []string{fsm.EndTerminal, fsm.EndError}[r.IntN(2)]},
		}}
		add := func(depth int, kind string, fields ...fsm.Field) {
			at = at.Add(time.Duration(r.Int64N(1e9)))
			b.Events = append(b.Events, fsm.Event{Kind: kind, Time: at, Depth: depth, Fields: fields})
		}
		for step := range 1 + r.IntN(6) {
			depth := 0
			if step > 0 {
				depth = r.IntN(2)
			}
			add(depth, fsm.EventStateEnter, fsm.Field{Key: "state", Value: []string{"a", "b", "c"}[r.IntN(3)]},
				fsm.Field{Key: "iteration", Value: int64(step + 1)})
			add(depth, fsm.EventActionComplete, fsm.Field{Key: "exit_code", Value: r.Int64N(2)},
				fsm.Field{Key: "is_prompt", Value: r.IntN(2) == 0},
				fsm.Field{Key: "input_tokens", Value: r.Int64N(2) * 1000}, fsm.Field{Key: "model", Value: "m"},
				fsm.Field{Key: "duration_ms", Value: r.Int64N(999)})
			add(depth, fsm.EventEvaluate, fsm.Field{Key: "type", Value: "exit_code"},
				fsm.Field{Key: "verdict", Value: []string{"yes", "no"}[r.IntN(2)]})
		}
		if err := errors.Join(j.Record(t.Context(), b), j.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// damageRuns damages some runs of the archive, in different ways, and returns how many.
func damageRuns(t *testing.T, p *project.Project, r *rand.Rand) (n int) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(p.Loops, ".history", "2*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		events, state := filepath.Join(folder, "events.jsonl"), filepath.Join(folder, "state.json")
		text, err := os.ReadFile(events)
		if err != nil {
			continue
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		switch r.IntN(12) {
		case 0: // half-written
			err = os.WriteFile(events, text[:len(text)*2/3], 0o600)
		case 1: // the first line is lost
			err = os.WriteFile(events, bytes.Join(lines[1:], nil), 0o600)
		case 2:
			lines[len(lines)/2] = []byte("{\n")
			err = os.WriteFile(events, bytes.Join(lines, nil), 0o600)
		case 3:
			err = os.Remove(state)
		case 4:
			err = os.WriteFile(state, []byte(`{"loop_name": "fix", "status`), 0o600)
		case 5:
			err = os.Remove(events)
		default:
			continue
		}
		if n++; err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return n
}

// Statistics, costs and filters of a state say the same whether the store kept what they need of a run or its
// events are read: of whole runs, damaged and half-written ones.
func TestSummariesChangeNoAnswer(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(37, 1))
	p, err := project.Open(t.TempDir(), project.Options{Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(p.Loops, "prices.yaml")
	if err := errors.Join(os.MkdirAll(p.Loops, 0o700),
		os.WriteFile(table, []byte("date: 2026-11-01\nmodels:\n  m: {input: 0.3, output: 1}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(p.Loops, ".running", ".history.summaries")
	answers := func() string {
		t.Helper()
		var b strings.Builder
		show := func(what string, v any, err error) {
			text, e := json.Marshal(v)
			if err = errors.Join(err, e); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			fmt.Fprintf(&b, "%s: %s\n", what, text)
		}
		notes := 0
		s := &Service{Project: p, Note: func(format string, args ...any) {
			notes++
			fmt.Fprintf(&b, format+"\n", args...)
		}}
		defer s.Close()
		s.Page = &view.Page{}
		for _, name := range []string{"", "fix", "check"} {
			costs, err := s.Costs(t.Context(), name, "", "")
			if err != nil {
				t.Fatal(err)
			}
			show("cost "+name, costs.Object(), nil)
			for _, state := range []string{"a", "c", "nowhere"} {
				found, err := s.AllRuns(t.Context(), HistoryQuery{Loop: name, State: state})
				if err != nil {
					fmt.Fprintln(&b, err)
					continue
				}
				for i := range found.Runs {
					found.Runs[i].Bytes = 0 // it is known once they were read long enough after they changed
				}
				show("runs in "+state, found.Runs, nil)
			}
		}
		f, err := s.Finder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs, err := RunsOf(t.Context(), f, "fix", 0, persistence.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		stats, sums := inspect.Stats{Ended: map[string]int{}}, NewSummaries(f, s.damaged)
		for i, run := range runs {
			sum, err := sums.Of(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			stats.Add(run)
			stats.Tally.AddRun(i, sum)
		}
		sums.Close()
		show("stats", view.Stats(&stats), nil)
		fmt.Fprintln(&b, notes, "notes")
		return b.String()
	}
	anew := func() string {
		t.Helper()
		if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return answers()
	}
	for round := range 3 {
		recordRuns(t, p, r, 200*round, 100)
		if round > 0 && damageRuns(t, p, r) == 0 {
			t.Fatal("no run was damaged")
		}
		if round == 2 { // what an earlier version kept is made anew
			text, err := os.ReadFile(kept)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(kept, bytes.Replace(text, []byte("digests"), []byte("digestz"), 1), 0o600); err !=
				nil {
				t.Fatal(err)
			}
		}
		answers()           // the first reader of damage marks the run
		for i := 0; ; i++ { // a file that has just changed is not kept
			want := anew()
			if _, err := os.Stat(kept); err != nil && i < 100 {
				testenv.Moment(i)
				continue
			}
			if got := answers(); got != want {
				t.Fatalf("round %d: %s", round, testenv.Difference(got, want))
			}
			break
		}
	}
	if strings.Count(answers(), "reading continues") == 0 {
		t.Error("no damage is reported")
	}
}

// Of many damaged runs ten are told, a line each, and how many there are besides.
func TestDamagedRunsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runs int
		want string // the last line
		all  int    // lines
	}{
		{0, "", 0},
		{1, "run 1; and so on", 1},
		{10, "run 10; and so on", 10},
		{11, "1 run with damaged records besides; what can be read of them counts", 11},
		{300, "290 runs with damaged records besides; what can be read of them counts", 11},
	} {
		var lines []string
		s := NewSummaries(project.Finder{}, func(err error, then string) {
			lines = append(lines, err.Error()+"; "+then)
		})
		for i := range c.runs {
			s.report(fmt.Errorf("run %d", i+1), "and so on")
		}
		s.Close()
		if last := strings.Join(lines[max(0, len(lines)-1):], ""); last != c.want || len(lines) != c.all {
			t.Errorf("%d runs: %d lines, the last one %q", c.runs, len(lines), last)
		}
	}
}
