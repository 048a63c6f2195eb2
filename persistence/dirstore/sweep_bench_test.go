package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/persistence"
)

// deadRuns makes a directory with many runs whose owner is dead.
func deadRuns(b *testing.B, n int) *Store {
	d, err := Open(filepath.Join(b.TempDir(), ".loops"))
	if err != nil {
		b.Fatal(err)
	}
	d.Durability = persistence.None
	for i := range n {
		j, err := d.Create(b.Context(),
			persistence.Spec{
				Loop: "fix", StartedAt: at.Add(time.Duration(i) * time.Second),
				Owner: persistence.Owner{PID: 4194305}, Definition: []byte("x"),
			})
		if err != nil {
			b.Fatal(err)
		}
		for n := range 3 {
			record1(b, j.(*journal), small(), n, true)
		}
		j.(*journal).die()
	}
	d.Durability = persistence.Strict
	return d
}

func BenchmarkSweep1000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		d := deadRuns(b, 1000)
		b.StartTimer()
		t := time.Now()
		runs, err := d.Runs(b.Context(), persistence.Query{Live: true})
		if err != nil || len(runs) != 1000 {
			b.Fatal(err, len(runs))
		}
		listed := time.Since(t)
		todo := make([]persistence.Tidying, 0, len(runs))
		for _, r := range runs {
			todo = append(todo, persistence.Tidying{ID: r.ID, Interrupt: true, At: at, Why: "its process is gone"})
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

// BenchmarkListBesideDead is what list --running reads beside a thousand runs that died.
func BenchmarkListBesideDead(b *testing.B) {
	d := deadRuns(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		runs, err := d.Runs(b.Context(), persistence.Query{Limit: 200, LiveToo: true, Open: true, Readings: true})
		if err != nil || len(runs) != 1000 {
			b.Fatal(err, len(runs))
		}
	}
}
