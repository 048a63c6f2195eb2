package dirstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// TestCrashWhileRemoving looks at what a crash before each step of a removal would leave: the run as it was, or
// none. The next removal finishes what was begun.
func TestCrashWhileRemoving(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"archived", "live", "live in parts"} {
		d, steps := open(t), 0
		if kind == "live in parts" {
			d.PartSize = 300
		}
		var last []persistence.Journal
		for range 2 {
			j := begin(t, d, step(1), step(2), step(3))
			if err := os.WriteFile(filepath.Join(j.Dir(), "kept"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			logs := filepath.Join(d.root, "logs")
			if err := os.MkdirAll(logs, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range persistence.LogFiles(logs, j.Run().ID) {
				if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if kind == "archived" {
				if err := j.Record(t.Context(), end(3, "terminal")); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			last = append(last, j)
		}
		id, other := last[0].Run().ID, last[1].Run().ID
		want, err := d.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		whole, gone := 0, 0
		d.step = func(name string) error {
			steps++
			for _, finish := range []bool{true, false} {
				root := filepath.Join(t.TempDir(), ".loops")
				if err := os.CopyFS(root, os.DirFS(d.root)); err != nil {
					t.Fatal(err)
				}
				when := fmt.Sprintf("%s, crash before %q, finish %v", kind, name, finish)
				if checkRemoved(t, when, root, id, other, len(want.Captured.Keys()), want.Step, finish) {
					whole++
				} else {
					gone++
				}
			}
			return nil
		}
		if err := d.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if steps < 3 || whole == 0 || gone == 0 {
			t.Errorf("%s: %d steps: whole at %d, gone at %d", kind, steps, whole, gone)
		}
		names, _ := disk.Names(d.history)
		for _, n := range names {
			if strings.HasPrefix(n, ".") {
				t.Errorf("%s: %s is left", kind, n)
			}
		}
	}
}

// checkRemoved looks at a directory that a crash left, and reports whether the run is there. What is left of it
// goes with the next removal, or where removals are finished.
func checkRemoved(t *testing.T, when, root string, id, other persistence.ID, captured, steps int, finish bool) bool {
	t.Helper()
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(d.work(id), "kept")
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil {
		t.Fatal(err)
	}
	there := false
	for _, r := range runs {
		there = there || r.ID == id
		if len(r.Damage) > 0 {
			t.Errorf("%s: %s is damaged: %q", when, r.ID, r.Damage)
		}
	}
	if there {
		if s, err := d.Snapshot(t.Context(), id); err != nil || s.Step != steps || s.Captured.Len() != captured ||
			!disk.Exists(work) {
			t.Errorf("%s: it is there, but not whole: %v, %+v, its file: %v", when, err, s, disk.Exists(work))
		}
		if err := d.Remove(t.Context(), id); err != nil {
			t.Errorf("%s: once more: %v", when, err)
		}
	}
	if finish {
		if _, err := d.FinishRemovals(t.Context()); err != nil {
			t.Errorf("%s: finish: %v", when, err)
		}
		if s, err := d.Snapshot(t.Context(), other); err != nil || s.Step != steps ||
			!disk.Exists(filepath.Join(d.work(other), "kept")) ||
			!disk.Exists(persistence.LogFiles(filepath.Join(root, "logs"), other)[0]) {
			t.Errorf("%s: the other one: %v", when, err)
		}
	} else if err := d.Remove(t.Context(), other); err != nil {
		t.Errorf("%s: the other one: %v", when, err)
	}
	stem := string(other)[len(other)-len("20060102T150405"):]
	for _, dir := range []string{d.history, d.runs, d.running, filepath.Join(root, "logs")} {
		names, _ := disk.Names(dir)
		for _, n := range names {
			if others := strings.Contains(strings.ReplaceAll(n, "-", ""), stem); n != ".acquire.lock" &&
				n != ".newest" && n != ".removed-fix.ids" && !(finish && others) {
				t.Errorf("%s: %s/%s is left", when, filepath.Base(dir), n)
			}
		}
	}
	return there
}

// TestRemoveUnreadable: a run that cannot be read any more is one that users want to remove.
func TestRemoveUnreadable(t *testing.T) {
	t.Parallel()
	for _, archived := range []bool{true, false} {
		d := open(t)
		j := begin(t, d, step(1))
		if archived {
			if err := j.Record(t.Context(), end(1, "terminal")); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		id := j.Run().ID
		p, err := d.find(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{p.state, p.events} {
			if err := os.WriteFile(f, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := d.size(id); err != nil || n < 2 {
			t.Errorf("archived %v: size %d, %v", archived, n, err)
		}
		if err := d.Remove(t.Context(), id); err != nil {
			t.Errorf("archived %v: %v", archived, err)
		}
		if runs, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) != 0 ||
			disk.Exists(d.work(id)) {
			t.Errorf("archived %v: %v, %d runs, its folder is there: %v", archived, err, len(runs),
				disk.Exists(d.work(id)))
		}
	}
}

// TestRemoveKeepsSharedFolder: the archive folder of a run was taken by a copy of another, so it was given the
// next second.
func TestRemoveKeepsSharedFolder(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	first := j.Run()
	taken := filepath.Join(d.history, folderName(first.RunID, first.Loop))
	if err := os.MkdirAll(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taken, "state.json"),
		[]byte(
			`{"loop_name":"fix","current_state":"a","iteration":1,"captured":{},"started_at":"2026-11-20T10:00:00+00:00","updated_at":"2026-11-20T10:00:01+00:00","status":"completed"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Record(t.Context(), end(1, "terminal")), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 2 {
		t.Fatal(err, len(runs))
	}
	foreign, ours := runs[1], runs[0]
	if foreign.ID == ours.ID || !disk.Exists(d.work(first.ID)) {
		t.Fatalf("%+v", runs)
	}
	for _, c := range []struct {
		id   persistence.ID
		kept bool
	}{{foreign.ID, true}, {ours.ID, false}} {
		if err := d.Remove(t.Context(), c.id); err != nil {
			t.Fatal(c.id, err)
		}
		if disk.Exists(d.work(first.ID)) != c.kept {
			t.Errorf("after %s: the working folder is there: %v, want %v", c.id, !c.kept, c.kept)
		}
	}
}

// The same the other way round: the run in the next second goes first.
func TestRemoveKeepsFolderOfFirst(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1), end(1, "terminal"))
	first := j.Run()
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := persistence.ParseRunID(first.RunID)
	if err != nil {
		t.Fatal(err)
	}
	next := at.Add(time.Second)
	from, to := filepath.Join(d.history, folderName(first.RunID, first.Loop)),
		filepath.Join(d.history, folderName(persistence.MakeRunID(next), first.Loop))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	flat, _ := (&loaded{}).readState(filepath.Join(to, "state.json"))
	flat.Set("run_id", persistence.MakeRunID(next))
	flat.Set("instance", string(first.ID))
	if err := os.WriteFile(filepath.Join(to, "state.json"), encodeFlat(flat), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(t.Context(), persistence.MakeID(first.Loop, next)); err != nil ||
		!disk.Exists(d.work(first.ID)) {
		t.Errorf("%v; the working folder is there: %v", err, disk.Exists(d.work(first.ID)))
	}
	if err := d.Remove(t.Context(), first.ID); err != nil || disk.Exists(d.work(first.ID)) {
		t.Errorf("%v; the working folder is there: %v", err, disk.Exists(d.work(first.ID)))
	}
}

func TestRemoveTreeTells(t *testing.T) {
	t.Parallel()
	if err := disk.RemoveTree(filepath.Join(t.TempDir(), "nothing")); err != nil {
		t.Error(err)
	}
	err := remains("x", &fs.PathError{Op: "unlink", Path: "a/b", Err: fs.ErrPermission})
	if err == nil || err.Error() != "run x is gone, but not all of its files: unlink a/b: permission denied" ||
		!errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

// TestImportAfterARemovalThatWasCutShort: a run that is imported under the ID of one whose removal was cut
// short keeps its files when the removal is finished.
func TestImportAfterARemovalThatWasCutShort(t *testing.T) {
	t.Parallel()
	from, d := open(t), open(t)
	whole := begin(t, from, step(1), end(1, "terminal"))
	live := begin(t, d, step(1))
	id := live.Run().ID
	if err := errors.Join(whole.Close(t.Context()), live.Close(t.Context())); err != nil || whole.Run().ID != id {
		t.Fatal(err, whole.Run().ID, id)
	}
	d.step = func(name string) error {
		if name == "remove work" {
			return errors.New("killed")
		}
		return nil
	}
	if err := d.Remove(t.Context(), id); err == nil {
		t.Fatal("it was removed whole")
	}
	d.step = nil
	lock, err := d.claim(id)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := d.FinishRemovals(t.Context()); err != nil || len(ids) > 0 { // its remover lives
		t.Errorf("while it is removed: %v, %q were removed", err, ids)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}

	runs, err := from.Runs(t.Context(), persistence.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := persistence.Copy(t.Context(), from, d, runs[0]); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(d.work(id), "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ids, err := d.FinishRemovals(t.Context())
	if err != nil || len(ids) > 0 || !disk.Exists(kept) {
		t.Errorf("%v, %q were removed, its file is there: %v", err, ids, disk.Exists(kept))
	}
}
