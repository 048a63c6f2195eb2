package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"loops/persistence/checkpoint"
	"loops/persistence/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(*testing.T) checkpoint.Store { return new(checkpoint.Memory) })
}

// A damageable is a Dir with what the suite wants of its files.
type damageable struct {
	*checkpoint.Dir
	root string
}

func (d damageable) Reopen() (checkpoint.Store, error) { return checkpoint.OpenDir(d.root) }

func (d damageable) Damage(run string, log bool, f func([]byte) []byte) error {
	path := filepath.Join(d.root, run, "checkpoint.json")
	if log {
		path = filepath.Join(d.root, run, "events.jsonl")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, f(b), 0o600)
}

func TestDir(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store {
		root := filepath.Join(t.TempDir(), "runs")
		d, err := checkpoint.OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		return damageable{d, root}
	})
}

// A nil store of any kind works and keeps nothing.
func TestNil(t *testing.T) {
	t.Parallel()
	type both interface {
		checkpoint.Store
		checkpoint.Log
	}
	c := &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}}
	for _, s := range []both{(*checkpoint.Dir)(nil), (*checkpoint.Memory)(nil)} {
		n, err := s.Append(t.Context(), "r1", checkpoint.Event{})
		list, e := s.ListInterrupted(t.Context())
		if err := errors.Join(err, e, s.Save(t.Context(), c), s.Delete(t.Context(), "r1"),
			s.Clear(t.Context(), "r1")); err != nil || n != 0 || len(list) != 0 {
			t.Errorf("%T: %v, %d, %v", s, err, n, list)
		}
		for e, err := range s.Since(t.Context(), "r1", 0) {
			t.Errorf("%T has an event: %v, %v", s, e, err)
		}
		if c, err := s.Load(t.Context(), "r1"); !errors.Is(err, checkpoint.ErrNotFound) || c != nil {
			t.Errorf("%T: %v", s, err)
		}
		nilHandle(t, checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, 0))
	}
	nilHandle(t, checkpoint.NewRun(nil, checkpoint.Meta{Run: "r1"}, 0))
	nilHandle(t, (&checkpoint.Factory[string]{}).New("x"))
	nilHandle(t, (*checkpoint.Factory[string])(nil).New("x"))
}

func nilHandle(t *testing.T, r *checkpoint.Run) {
	t.Helper()
	ctx := context.Background()
	c, err := r.Resume(ctx)
	if err != nil || c == nil || !c.SavedAt.IsZero() {
		t.Fatalf("resume: %v, %+v", err, c)
	}
	saved, err := r.Save(ctx, c)
	n, e := r.Append(ctx, checkpoint.Event{})
	if err := errors.Join(err, e, r.SaveNow(ctx, c), r.Complete(ctx), r.Fail(ctx)); err != nil || saved || n != 0 ||
		!reflect.DeepEqual(r.Meta(), checkpoint.Meta{}) {
		t.Errorf("%v, %v, %d", err, saved, n)
	}
	for e, err := range r.Since(ctx, 0) {
		t.Errorf("a nil run has an event: %v, %v", e, err)
	}
}

func mustOpen(t testing.TB) (*checkpoint.Dir, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "runs")
	d, err := checkpoint.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return d, root
}

func save(t testing.TB, s checkpoint.Store, run string, iteration int) {
	t.Helper()
	if err := s.Save(t.Context(),
		&checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: run}, Iteration: iteration}); err != nil {
		t.Fatal(err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	d, root := mustOpen(t)
	save(t, d, "r1", 1)
	path := filepath.Join(root, "r1", "checkpoint.json")
	want := func(path string, mode os.FileMode) {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != mode {
			t.Fatalf("%v, mode %v, want %v", err, st.Mode(), mode)
		}
	}
	want(path, 0o600)
	want(root, 0o700)
	want(filepath.Dir(path), 0o700)
	for i, mode := range []os.FileMode{0o640, 0o666, 0o444, 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		save(t, d, "r1", i+2)
		want(path, mode)
	}
}

// What was deleted leaves nothing, and nothing of a Save is left but its files.
func TestFiles(t *testing.T) {
	t.Parallel()
	d, root := mustOpen(t)
	names := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(root, "r1"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if len(got) != len(want) {
			t.Fatalf("files %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("files %q, want %q", got, want)
			}
		}
	}
	for i := range 3 {
		save(t, d, "r1", i)
	}
	names("checkpoint.json", "lock", "previous.json")
	path := filepath.Join(root, "r1", "checkpoint.json")
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	save(t, d, "r1", 4)
	names("checkpoint.json", "damaged.json", "lock", "previous.json")
	if b, err := os.ReadFile(filepath.Join(root, "r1", "damaged.json")); err != nil || string(b) != "garbage" {
		t.Errorf("%v, put aside %q", err, b)
	}
	if _, err := d.Append(t.Context(), "r1", checkpoint.Event{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	names("events.jsonl")
	if err := d.Clear(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v is left", err, entries)
	}
}

// What is in the place of files is named.
func TestUnusable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.OpenDir(filepath.Join(file, "runs")); err == nil ||
		!contains(err, file+": not a directory") {
		t.Errorf("error is %v", err)
	}
	if _, err := checkpoint.OpenDir(file); err == nil || !contains(err, file+": not a directory") {
		t.Errorf("error is %v", err)
	}
	d, err := checkpoint.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Save(t.Context(), &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "file"}}); err == nil ||
		!contains(err, file) || !contains(err, "run file cannot be saved") {
		t.Errorf("error is %v", err)
	}
	if list, err := d.ListInterrupted(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", err, list)
	}
	save(t, d, "r1", 1)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ListInterrupted(t.Context()); err == nil {
		t.Error("a folder that is gone lists no runs, as if all were done")
	}
}

// A checkpoint of a newer version is neither read wrongly nor replaced.
func TestNewer(t *testing.T) {
	t.Parallel()
	d, root := mustOpen(t)
	save(t, d, "r1", 1)
	path := filepath.Join(root, "r1", "checkpoint.json")
	newer := checkpoint.Newer(t, path)
	_, err := d.Load(t.Context(), "r1")
	if !errors.Is(err, checkpoint.ErrNewer) || !contains(err, path) {
		t.Errorf("load: %v", err)
	}
	if err := d.Save(t.Context(), &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}}); !errors.Is(err,
		checkpoint.ErrNewer) {
		t.Errorf("save: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != newer {
		t.Errorf("%v, the file was changed", err)
	}
}

// A checkpoint that a user copied to another run's folder is not that run's.
func TestWrongRun(t *testing.T) {
	t.Parallel()
	d, root := mustOpen(t)
	save(t, d, "r1", 1)
	if err := os.Rename(filepath.Join(root, "r1"), filepath.Join(root, "r2")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(t.Context(), "r2"); !errors.Is(err, checkpoint.ErrDamaged) ||
		!contains(err, `it is of run "r1"`) {
		t.Errorf("error is %v", err)
	}
}

func TestUnpackErrors(t *testing.T) {
	t.Parallel()
	if _, err := checkpoint.Pack([]any{1, func() {}}); err == nil || !contains(err, "message 1") {
		t.Errorf("pack: %v", err)
	}
	raw, err := checkpoint.Pack([]any{1, "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Unpack[int](raw); err == nil || !contains(err, "message 1") {
		t.Errorf("unpack: %v", err)
	}
}
