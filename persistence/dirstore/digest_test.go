package dirstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm/value"
	"loops/persistence"
)

// A listing of all runs of a large archive read and parsed the state file of each of them, every time.
func TestListingOfAllComesFromDigests(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.eager = true
	for i := range 6 {
		ended(t, d, "fix", i)
	}
	j, err := d.Create(t.Context(), persistence.Spec{
		Loop: "fix", StartedAt: at.Add(time.Minute), Definition: []byte("x"), File: "loops/fix.yaml",
		SHA256: strings.Repeat("a", 64), MaxSteps: 7,
		Options: value.NewMap("input", "é\n", "n", int64(3), "list", []any{"a", nil, 0.5, value.NewMap()}),
	})
	must(t, err)
	b := end(2, "interrupted")
	b.Snapshot.Continuation, b.Snapshot.Elapsed = "go on so", 3*time.Second
	must(t, errors.Join(j.Record(t.Context(), b), j.Close(t.Context())))
	settle()
	want, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	stale := func() (names []string) { // the runs that a listing would read
		c := d.cached()
		c.openDigests()
		defer c.digests.Close()
		folders, err := d.folders(c, "")
		must(t, err)
		all := slices.Collect(folders)
		ch := choice{d: d, c: c}
		_, digests := ch.sift(all)
		for i := range all {
			all[i].digest = &digests[i]
			r, ok := d.digestedRun(all[i])
			if !ok {
				names = append(names, all[i].path)
			} else if !reflect.DeepEqual(r, want[i]) {
				t.Errorf("its digest says\n%+v\nnot\n%+v", r, want[i])
			}
		}
		return names
	}
	if names := stale(); len(names) > 0 {
		t.Errorf("the second listing reads %v", names)
	}
	if again, err := d.Runs(t.Context(), persistence.Query{}); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("the second listing returns %v\n%s\nnot\n%s", err, brief(again), brief(want))
	}

	// What was changed since is read.
	folder := func(i int) string { return filepath.Join(d.history, folderName(want[i].RunID, "fix")) }
	events, err := os.OpenFile(filepath.Join(folder(1), "events.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = events.WriteString("{\n")
	must(t, errors.Join(err, events.Close()))
	must(t, os.WriteFile(filepath.Join(folder(2), "events.damaged"), []byte("{}\n"), 0o600))
	must(t, os.Chtimes(filepath.Join(folder(3), "state.json"), at, at))
	must(t, os.Remove(filepath.Join(folder(4), "events.jsonl")))
	changed := []string{
		filepath.Base(folder(1)), filepath.Base(folder(2)), filepath.Base(folder(3)),
		filepath.Base(folder(4)),
	}
	if names := stale(); !slices.Equal(names, changed) {
		t.Errorf("after changes the listing reads %v, not %v", names, changed)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	must(t, err)
	for i := range runs {
		if damaged := i == 2 || i == 4; damaged && len(runs[i].Damage) == 0 {
			t.Errorf("run %d is not said to be damaged: %+v", i, runs[i])
		}
	}

	// What another version wrote is not read.
	path := filepath.Join(d.running, archiveDigests)
	digests, err := os.ReadFile(path)
	must(t, errors.Join(err, os.WriteFile(path, bytes.Replace(digests, []byte("digests 6"), []byte("digests 5"), 1),
		0o600)))
	if names := stale(); len(names) != len(want) {
		t.Errorf("of what another version wrote only %v are not believed", names)
	}
}
