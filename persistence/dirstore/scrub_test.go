package dirstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

const hidden = "hunter22-of-ours"

func scrubbed(s string) string { return strings.ReplaceAll(s, hidden, "***(PASS)") }

// TestScrubCutShort: whenever a scrub dies, the run is whole with one of the two texts; and one that is done
// again leaves no file with the secret, also where the journal has parts.
func TestScrubCutShort(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 900} {
		for n := 1; ; n++ {
			d := open(t)
			d.PartSize = size
			j := begin(t, d)
			for i := range 4 {
				b := step(i + 1)
				b.Events[0].Fields = []fsm.Field{
					{Key: "said", Value: hidden},
					{Key: "more", Value: strings.Repeat("m", 300)},
				}
				b.Snapshot.Captured = value.NewMap("big", value.NewMap("output", hidden+strings.Repeat("x", 70000)))
				b.Snapshot.Child = &fsm.Child{
					Memory: step(1).Snapshot, Name: "inner", File: "inner.yaml",
					Log: []string{strings.Repeat("z", 9000), hidden},
				}
				if err := j.Record(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			id := j.Run().ID
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.Interrupt(t.Context(), id, at, "killed"); err != nil {
				t.Fatal(err)
			}
			count, name := 0, ""
			d.step = func(s string) error {
				if count++; count >= n {
					name = s
					return errCrash
				}
				return nil
			}
			_, err := d.Scrub(t.Context(), id, scrubbed, func() error { return nil })
			whole := err == nil
			if !whole && !errors.Is(err, errCrash) || whole && n < 5 {
				t.Fatalf("step %d %q: %v", n, name, err)
			}
			d.step = nil
			for range 2 {
				runs, err := d.Runs(t.Context(), persistence.Query{})
				if err != nil || len(runs) != 1 || runs[0].Status != persistence.Interrupted ||
					len(runs[0].Damage) > 0 {
					t.Fatalf("step %d %q: %v, %+v", n, name, err, runs)
				}
				if m, err := d.Snapshot(t.Context(), id); err != nil || len(m.Child.Log) != 2 {
					t.Fatalf("step %d %q: %v, %+v", n, name, err, m)
				}
				if err := d.Archive(t.Context(), id); err != nil {
					t.Fatalf("step %d %q: %v", n, name, err)
				}
				if _, err := d.FinishRemovals(t.Context()); err != nil {
					t.Fatalf("step %d %q: %v", n, name, err)
				}
			}
			if _, err := d.Scrub(t.Context(), id, scrubbed, func() error { return nil }); err != nil {
				t.Fatalf("step %d %q: again: %v", n, name, err)
			}
			if found := filesWith(t, d.root, hidden); found != "" {
				t.Errorf("step %d %q of parts of %d bytes: the secret is in\n%s", n, name, size, found)
			}
			if whole {
				break
			}
		}
	}
}

// filesWith lists the files below a folder that have a text.
func filesWith(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var b []byte
			if b, err = os.ReadFile(path); strings.Contains(string(b), text) {
				found += fmt.Sprintln(path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
