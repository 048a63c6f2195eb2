package checkpoint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// conversation is a checkpoint with n messages of about 1 KiB.
func conversation(n int) *Checkpoint {
	c := &Checkpoint{
		Meta: Meta{Run: "r1", Agent: "writer", Prompt: strings.Repeat("do it ", 50)}, Iteration: n,
		Phases: []string{"plan", "draft"},
	}
	for i := range n {
		c.Messages = append(c.Messages,
			json.RawMessage(fmt.Sprintf(`{"role":"user","n":%d,"text":%q}`, i, strings.Repeat("some words ", 90))))
	}
	return c
}

var sizes = []int{2, 100, 1000}

// against runs two things in turn and reports how long the first takes in units of the second, as medians, so that
// others at work on the machine slow down both.
func against(b *testing.B, op, floor func()) {
	var took [2][]time.Duration
	for b.Loop() {
		for i, f := range []func(){op, floor} {
			start := time.Now()
			f()
			took[i] = append(took[i], time.Since(start))
		}
	}
	for _, l := range took {
		slices.Sort(l)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[0][len(took[0])/2].Microseconds()), "µs")
	b.ReportMetric(float64(took[0][len(took[0])/2])/float64(took[1][len(took[1])/2]), "×floor")
}

// A save in files against the same number of bytes written to a temporary file, synced, renamed over the old
// one, and the folder synced.
func BenchmarkSave(b *testing.B) {
	for _, n := range sizes {
		c := conversation(n)
		data, err := Encode(c, time.Now())
		must(b, err)
		b.Run(fmt.Sprintf("%dKiB", n), func(b *testing.B) {
			d := openRuns(b)
			path := filepath.Join(b.TempDir(), "f")
			against(b, func() { must(b, d.Save(b.Context(), c)) }, func() { replaceFile(b, path, data) })
		})
	}
}

func replaceFile(b *testing.B, path string, data []byte) {
	f, err := os.Create(path + ".tmp")
	must(b, err)
	_, err = f.Write(data)
	must(b, err)
	must(b, f.Sync())
	must(b, f.Close())
	must(b, os.Rename(path+".tmp", path))
	g, err := os.Open(filepath.Dir(path))
	must(b, err)
	must(b, g.Sync())
	must(b, g.Close())
}

func BenchmarkSaveMemory(b *testing.B) {
	for _, n := range sizes {
		c := conversation(n)
		b.Run(fmt.Sprintf("%dKiB", n), func(b *testing.B) {
			m := new(Memory)
			for b.Loop() {
				must(b, m.Save(b.Context(), c))
			}
		})
	}
}

// A Save that is put off, as most are.
func BenchmarkSaveThrottled(b *testing.B) {
	r := NewRun(openRuns(b), Meta{Run: "r1"}, time.Hour)
	c := conversation(100)
	b.ReportAllocs()
	for b.Loop() {
		_, err := r.Save(b.Context(), c)
		must(b, err)
	}
}

// Appending events against appending as many bytes with a sync.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openRuns(b)
			list := make([]Event, n)
			for i := range list {
				list[i] = Event{Kind: "tool", Data: json.RawMessage(`{"name":"grep","args":["-n","x"]}`)}
			}
			f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			must(b, err)
			defer f.Close()
			lines := []byte(strings.Repeat(strings.Repeat("x", 150)+"\n", n))
			against(b, func() {
				_, err := d.Append(b.Context(), "r1", list...)
				must(b, err)
			}, func() {
				_, err := f.Write(lines)
				must(b, err)
				must(b, f.Sync())
			})
		})
	}
}

func BenchmarkListInterrupted1000(b *testing.B) {
	d := openRuns(b)
	for i := range 1000 {
		c := conversation(10)
		c.Run = fmt.Sprint("r", i)
		must(b, d.Save(b.Context(), c))
	}
	for b.Loop() {
		list, err := d.ListInterrupted(b.Context())
		if err != nil || len(list) != 1000 {
			b.Fatal(err, len(list))
		}
	}
}

func BenchmarkStageSave(b *testing.B) {
	s, _ := openStages(b)
	for b.Loop() {
		must(b, s.Save(b.Context(), "x", []byte(`{"files": 3}`)))
	}
}
