package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Only the user can read what a run left, whichever process left it: memory and events hold what actions printed
// and were given. The .loops folder is that of the project, and what was there before keeps its mode.
func TestModes(t *testing.T) {
	// Not parallel: the test changes the umask.
	defer syscall.Umask(syscall.Umask(0))
	root := filepath.Join(t.TempDir(), "project", ".loops")
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	d.PartSize = 2000
	text := strings.Repeat("x", snapshot.LargeFrom+1)
	big := func(n int) *fsm.Batch {
		b := step(n)
		b.Snapshot.Captured = value.NewMap("big", value.NewMap("output", text))
		return b
	}
	live := begin(t, d, big(1), step(2), step(3), step(4), step(5), step(6), step(7))
	live.die()
	must(t, os.Chmod(live.files.events, 0o644)) //nolint:gosec // of an earlier version
	left, err := os.OpenFile(live.files.events, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = left.WriteString("torn")
	}
	if err := errors.Join(err, left.Close()); err != nil {
		t.Fatal(err)
	}
	again, _, err := d.Resume(t.Context(), live.id, persistence.Spec{Loop: "fix", Definition: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	must(t, again.Record(t.Context(), step(8)))
	again.(*journal).die()
	must(t, begin(t, d, big(1), step(2), end(3, fsm.EndTerminal)).Close(t.Context()))
	q := persistence.ProjectQueue(root)
	p, err := q.Join(t.Context(), persistence.Waiter{Loop: "fix", Owner: persistence.Owner{PID: os.Getpid()}})
	must(t, err)
	defer p.Leave() //nolint:errcheck // the test is over
	must(t, persistence.ProjectCircuit(root).Limited("claude", at))

	files := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		want := fs.FileMode(0o600)
		switch {
		case rel == ".":
			want = 0o755
		case e.IsDir():
			want = 0o700
		default:
			files++
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", rel, got, want)
		}
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("%v, %d files", err, files)
	}
}

// Folders that are there already may be shared with another tool, and stay as they are.
func TestModesOfBefore(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, dir := range []string{d.running, d.history, d.runs} {
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.Chmod(dir, 0o755)) //nolint:gosec // that is the point
	}
	must(t, begin(t, d, step(1), end(2, fsm.EndTerminal)).Close(t.Context()))
	for _, dir := range []string{d.running, d.history, d.runs} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", dir, err, st.Mode())
		}
	}
}

// A folder of a run that leads elsewhere is not written through; the folders of all runs may lie on another disk.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ended bool
		link  func(d *Store, j *journal) string
		works bool
	}{
		{"working folder", false, func(_ *Store, j *journal) string { return j.work }, false},
		{"parts", false, func(_ *Store, j *journal) string { return j.files.parts }, false},
		{"archive folder", true, func(d *Store, _ *journal) string {
			return filepath.Join(d.history, "2026-11-21T083717-fix")
		}, false},
		{"running", false, func(d *Store, _ *journal) string { return d.running }, true},
		{"history", true, func(d *Store, _ *journal) string { return d.history }, true},
		{"runs", false, func(d *Store, _ *journal) string { return d.runs }, true},
		{"loops", false, func(d *Store, _ *journal) string { return d.root }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			d.PartSize = 1000
			batches := []*fsm.Batch{step(1), step(2), step(3), step(4), step(5)}
			if c.ended {
				batches = append(batches, end(6, fsm.EndInterrupted))
			}
			j := begin(t, d, batches...)
			if c.ended {
				must(t, j.Close(t.Context()))
			} else {
				j.die()
			}
			path, elsewhere := c.link(d, j), filepath.Join(t.TempDir(), "elsewhere")
			must(t, os.Rename(path, elsewhere))
			must(t, os.Symlink(elsewhere, path))
			before := listing(t, elsewhere)
			k, _, err := d.Resume(t.Context(), j.id, persistence.Spec{Loop: "fix", Definition: []byte("another")})
			if (err == nil) != c.works {
				t.Fatalf("resume: %v", err)
			}
			if err == nil {
				must(t, k.Record(t.Context(), end(7, fsm.EndTerminal)))
				must(t, k.Close(t.Context()))
				return
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("resume: %v", err)
			}
			if after := listing(t, elsewhere); after != before {
				t.Errorf("elsewhere was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// listing is what is in a folder, with its contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			all.WriteString(path + "\n" + string(b) + "\n")
		}
		return err
	}))
	return all.String()
}
