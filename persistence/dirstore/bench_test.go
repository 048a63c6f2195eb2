package dirstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
)

// small is a memory as most loops have it.
func small() *fsm.Snapshot {
	s := &fsm.Snapshot{
		Loop: "fix", Phase: fsm.PhasePending, Current: "a", Previous: "b", StartedAt: at,
		Context: value.NewMap("input", "x", "run_dir", "/some/where", "max_steps", int64(50)),
		Edges:   value.CountsOf(map[string]int{"a->b": 1, "b->a": 1}), Retries: map[string]int{},
		Captured:   value.NewMap(),
		PrevResult: value.NewMap("output", "x\n", "exit_code", int64(0), "state", "a", "timeout_kind", nil),
		LastResult: value.NewMap("verdict", "yes", "details", value.NewMap("exit_code", int64(0))),
	}
	for i := range 4 {
		s.Captured.Set(fmt.Sprint("c", i), value.NewMap("output", strings.Repeat("some output ", 10), "stderr", "",
			"exit_code", int64(0), "duration_ms", int64(3), "failure_type", "", "timeout_kind", nil))
	}
	return s
}

func record1(b *testing.B, j *journal, s *fsm.Snapshot, i int, checkpoint bool) {
	s.Step = i + 1
	s.Edges = s.Edges.With("a->b", i+1)
	err := j.Record(b.Context(), &fsm.Batch{Snapshot: s, Checkpoint: checkpoint, Events: []fsm.Event{
		{
			Kind: "state_enter", Time: at,
			Fields: []fsm.Field{{Key: "state", Value: "a"}, {Key: "iteration", Value: int64(i)}},
		},
		{Kind: "route", Time: at, Fields: []fsm.Field{{Key: "from", Value: "a"}, {Key: "to", Value: "b"}}},
	}})
	if err != nil {
		b.Fatal(err)
	}
}

func benchJournal(b *testing.B) *journal {
	d, err := Open(filepath.Join(b.TempDir(), ".loops"))
	if err != nil {
		b.Fatal(err)
	}
	j, err := d.Create(b.Context(), persistence.Spec{Loop: "fix", StartedAt: at})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close(b.Context()) })
	return j.(*journal)
}

func BenchmarkRecordDecision(b *testing.B) {
	j, s := benchJournal(b), small()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		record1(b, j, s, i, false)
	}
}

// BenchmarkRecordChain is RecordDecision of a loop in which each step takes a transition that none took before.
func BenchmarkRecordChain(b *testing.B) {
	j, s := benchJournal(b), small()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Edges = s.Edges.With(fmt.Sprintf("s%d->s%d", i, i+1), 1)
		record1(b, j, s, i, false)
	}
}

func BenchmarkRecordCheckpoint(b *testing.B) {
	j, s := benchJournal(b), small()
	for i := 0; b.Loop(); i++ {
		record1(b, j, s, i, true)
	}
}

// A transition inside sub-loops costs what one outside costs, also where much is remembered around it. Two
// memories of 20 captures and a log of 100 KB stand around the innermost.
func BenchmarkRecordInside(b *testing.B) {
	for _, depth := range []int{0, 1, 3} {
		for _, checkpoint := range []bool{false, true} {
			b.Run(fmt.Sprintf("depth=%d/checkpoint=%v", depth, checkpoint), func(b *testing.B) {
				j, top := benchJournal(b), small()
				inner := top
				for range depth {
					for i := range 20 {
						inner.Captured.Set(fmt.Sprint("more", i),
							value.NewMap("output", strings.Repeat("some output ", 20), "exit_code", int64(0)))
					}
					inner.Child = &fsm.Child{Name: "sub", Memory: small()}
					for range 1000 {
						inner.Child.Log = append(inner.Child.Log, strings.Repeat("l", 100))
					}
					inner = inner.Child.Memory
				}
				record1(b, j, top, 0, true)
				before := j.offset
				for i := 0; b.Loop(); i++ {
					inner.Step = i + 1
					inner.Edges = inner.Edges.With("a->b", i+1)
					err := j.Record(b.Context(), &fsm.Batch{Snapshot: top, Checkpoint: checkpoint, Events: []fsm.Event{
						{
							Kind: "state_enter", Time: at, Depth: depth,
							Fields: []fsm.Field{{Key: "state", Value: "a"}, {Key: "iteration", Value: int64(i)}},
						},
						{
							Kind: "route", Time: at, Depth: depth,
							Fields: []fsm.Field{{Key: "from", Value: "a"}, {Key: "to", Value: "b"}},
						},
					}})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(j.offset-before)/float64(b.N), "journal-B/op")
				b.ReportMetric(float64(len(j.pretty)), "state-B")
			})
		}
	}
}

// The floor of a checkpoint: one line of the same length, synced.
func BenchmarkFloorAppendSync(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 400) + "\n")
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := disk.SyncData(f); err != nil {
			b.Fatal(err)
		}
	}
}

// A capture of 1 MiB, then 100 transitions.
func BenchmarkLargeCaptureThen100(b *testing.B) {
	for b.Loop() {
		j, s := benchJournal(b), small()
		text := strings.Repeat("0123456789abcde\n", 1<<16)
		s.Phase, s.Result = fsm.PhaseActed, &fsm.Result{Stdout: text}
		record1(b, j, s, 0, true)
		s.Result = nil
		s.Captured.Set("big", value.NewMap("output", strings.TrimRight(text, "\n"), "exit_code", int64(0)))
		s.PrevResult = value.NewMap("output", text)
		for i := range 100 {
			record1(b, j, s, i+1, true)
		}
	}
}

func BenchmarkHistory20Of10000(b *testing.B) {
	root := filepath.Join(b.TempDir(), ".loops")
	d, err := Open(root)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		when := at.Add(time.Duration(i) * time.Minute)
		r := &record{status: persistence.Completed, runID: persistence.MakeRunID(when), updated: when}
		r.Snapshot = *small()
		r.StartedAt = when
		dir := filepath.Join(d.history, folderName(r.runID, "fix"))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "state.json"), encode(r), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		runs, err := d.Runs(b.Context(), persistence.Query{Loop: "fix", Limit: 20})
		if err != nil || len(runs) != 20 || len(runs[0].Damage) > 0 {
			b.Fatal(err, len(runs), runs[0].Damage)
		}
	}
}

func BenchmarkWholeRun(b *testing.B) {
	d, err := Open(filepath.Join(b.TempDir(), ".loops"))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		j, err := d.Create(b.Context(),
			persistence.Spec{
				Loop: "fix", StartedAt: at.Add(time.Duration(i) * time.Second), Definition: []byte("x"),
				Scope: []string{"."},
			})
		if err != nil {
			b.Fatal(err)
		}
		s := small()
		record1(b, j.(*journal), s, 0, true)
		s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
		record1(b, j.(*journal), s, 1, true)
		if err := j.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// Taking over a run beside a history of 100 MB.
func BenchmarkResumeBeside100MB(b *testing.B) {
	j, s := benchJournal(b), small()
	out := &fsm.Batch{}
	for range 64 {
		out.Events = append(out.Events,
			fsm.Event{
				Kind: "action_output", Time: at,
				Fields: []fsm.Field{{Key: "line", Value: strings.Repeat("y", 60_000)}},
			})
	}
	record1(b, j, s, 0, true)
	for range 26 {
		if err := j.Record(b.Context(), out); err != nil {
			b.Fatal(err)
		}
	}
	record1(b, j, s, 1, true)
	if err := j.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		k, _, err := j.d.Resume(b.Context(), j.id, persistence.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		if err := k.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
