package checkpoint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// conversation is a checkpoint with n messages of about 1 KiB.
func conversation(n int) *Checkpoint {
	c := &Checkpoint{Meta: Meta{Run: "r1", Agent: "writer", Prompt: strings.Repeat("do it ", 50)}, Iteration: n, Phases: []string{"plan", "draft"}}
	for i := range n {
		c.Messages = append(c.Messages, json.RawMessage(fmt.Sprintf(`{"role":"user","n":%d,"text":%q}`, i, strings.Repeat("some words ", 90))))
	}
	return c
}

var sizes = []int{2, 100, 1000}

func BenchmarkSave(b *testing.B) {
	for _, n := range sizes {
		c := conversation(n)
		b.Run(fmt.Sprintf("dir/%dKiB", n), func(b *testing.B) {
			d := openRuns(b)
			for b.Loop() {
				must(b, d.Save(b.Context(), c))
			}
		})
		b.Run(fmt.Sprintf("memory/%dKiB", n), func(b *testing.B) {
			m := new(Memory)
			for b.Loop() {
				must(b, m.Save(b.Context(), c))
			}
		})
	}
}

// The floor of a save in files: the same number of bytes to a temporary file, synced, renamed over the old one, and
// the folder synced.
func BenchmarkSaveFloor(b *testing.B) {
	for _, n := range sizes {
		data, err := encode(conversation(n), time.Now())
		must(b, err)
		b.Run(fmt.Sprintf("%dKiB", n), func(b *testing.B) {
			dir := b.TempDir()
			path := filepath.Join(dir, "f")
			for b.Loop() {
				f, err := os.Create(path + ".tmp")
				must(b, err)
				_, err = f.Write(data)
				must(b, err)
				must(b, f.Sync())
				must(b, f.Close())
				must(b, os.Rename(path+".tmp", path))
				g, err := os.Open(dir)
				must(b, err)
				must(b, g.Sync())
				must(b, g.Close())
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

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			d := openRuns(b)
			var list []Event
			for range n {
				list = append(list, Event{Kind: "tool", Data: json.RawMessage(`{"name":"grep","args":["-n","x"]}`)})
			}
			for b.Loop() {
				_, err := d.Append(b.Context(), "r1", list...)
				must(b, err)
			}
		})
	}
}

// The floor of an Append: a line of the same length, synced.
func BenchmarkAppendFloor(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(b, err)
	defer f.Close()
	line := []byte(strings.Repeat("x", 150) + "\n")
	for b.Loop() {
		_, err := f.Write(line)
		must(b, err)
		must(b, f.Sync())
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
