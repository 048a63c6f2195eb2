package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// BenchmarkSync is the floor of a checkpoint: 8 KiB, about what a save adds to the log of SQLite, and a sync.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	must(b, err)
	defer f.Close()
	page := make([]byte, 8<<10)
	for b.Loop() {
		_, err := f.Write(page)
		must(b, err)
		must(b, f.Sync())
	}
}

// BenchmarkRecord records decisions, and checkpoints before actions, with a memory of a few kilobytes.
func BenchmarkRecord(b *testing.B) {
	for _, d := range dialects {
		for _, c := range []struct {
			name, params string
			checkpoint   bool
		}{
			{"decision", "durability=strict", false},
			{"grouped", "durability=grouped", false},
			{"checkpoint", "durability=strict", true},
		} {
			b.Run(d.name+"/"+c.name, func(b *testing.B) {
				s := opened(b, with(d.location(b), c.params))
				j := create(b, s, elsewhere)
				batch := step(1)
				m := batch.Snapshot
				m.Captured = value.NewMap("out", value.NewMap("output", strings.Repeat("x", 4000)))
				for b.Loop() {
					m.Step++
					batch.Checkpoint = c.checkpoint
					batch.Events = append(batch.Events[:0],
						fsm.Event{
							Kind: "route", Time: began,
							Fields: []fsm.Field{{Key: "from", Value: "check"}, {Key: "to", Value: "fix"}},
						},
						fsm.Event{
							Kind: "state_enter", Time: began,
							Fields: []fsm.Field{
								{Key: "state", Value: "fix"},
								{Key: "iteration", Value: int64(m.Step)},
							},
						},
					)
					must(b, j.Record(b.Context(), batch))
				}
				must(b, j.Close(b.Context()))
			})
		}
	}
}

// BenchmarkNewest lists the newest 20 of 100,000 runs.
func BenchmarkNewest(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.name, func(b *testing.B) {
			s := opened(b, d.location(b))
			j := create(b, s, elsewhere)
			must(b, j.Close(b.Context()))
			for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
				_, err := s.Exec(b.Context(),
					fmt.Sprintf(
						`INSERT INTO runs (id, loop, run_id, started_at, updated_at, status, archived, seq, whole,
							epoch, definition, about)
					SELECT id || '-%d-' || d, loop, run_id || d, started_at, updated_at, 'completed', 1, seq, whole,
						epoch, definition, about FROM runs,
					(SELECT 1 AS d UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION
						SELECT 7 UNION SELECT 8 UNION SELECT 9) x`, n))
				must(b, err)
			}
			for b.Loop() {
				rs, err := s.Runs(b.Context(), persistence.Query{Limit: 20})
				if err != nil || len(rs) != 20 {
					b.Fatal(len(rs), err)
				}
			}
		})
	}
}
