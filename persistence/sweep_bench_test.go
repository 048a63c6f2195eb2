package persistence

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// deadRuns makes a directory with many runs whose owner is dead.
func deadRuns(b *testing.B, n int) *Dir {
	d, err := OpenDir(filepath.Join(b.TempDir(), ".loops"))
	if err != nil {
		b.Fatal(err)
	}
	d.Durability = None
	for i := range n {
		j, err := d.Create(b.Context(), Spec{Loop: "fix", StartedAt: at.Add(time.Duration(i) * time.Second), Owner: Owner{PID: 4194305}, Definition: []byte("x")})
		if err != nil {
			b.Fatal(err)
		}
		for n := range 3 {
			record1(b, j.(*journal), small(), n, true)
		}
		j.(*journal).die()
	}
	d.Durability = Strict
	return d
}

func BenchmarkSweep1000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		d := deadRuns(b, 1000)
		b.StartTimer()
		t := time.Now()
		runs, err := d.Runs(b.Context(), Query{Live: true})
		if err != nil || len(runs) != 1000 {
			b.Fatal(err, len(runs))
		}
		listed := time.Since(t)
		todo := make([]Tidying, 0, len(runs))
		for _, r := range runs {
			todo = append(todo, Tidying{ID: r.ID, Interrupt: true, At: at, Why: "its process is gone"})
		}
		if err := errors.Join(d.Tidy(b.Context(), todo)...); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(listed.Milliseconds()), "list-ms")
		b.StopTimer()
		_ = os.RemoveAll(d.root)
		b.StartTimer()
	}
}
