package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// A process that was stopped while it had the store's lock must not keep others waiting for ever.
func TestStoreLockThatIsNotLetGo(t *testing.T) {
	t.Parallel()
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.patience = time.Millisecond
	if err := os.Mkdir(d.running, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(d.running, ".acquire.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := disk.Flock(f, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(t.Context(), persistence.Spec{Loop: "x"}); !errors.Is(err, persistence.ErrBusy) {
		t.Errorf("error is %v, want ErrBusy", err)
	}
	d.patience = 0
	if err := disk.Flock(f, syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	j, err := d.Create(t.Context(), persistence.Spec{Loop: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Locks of little-loops count while their process lives, also those of loops with a slash in their name.
func TestLocksOfTheReferenceTool(t *testing.T) {
	t.Parallel()
	d, err := Open(filepath.Join(t.TempDir(), ".loops"))
	must(t, err)
	alive := true
	d.Liveness = func(o persistence.Owner, recorded time.Time) bool {
		return alive && o.PID == 7 && recorded.Equal(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	}
	for _, name := range []string{"x-20261121T090000", "sub/n-20261121T090000", "a/b/c/n-20261121T090000"} {
		path := filepath.Join(d.running, name+".lock")
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		// it has no live owner
		for _, text := range []string{"", "[]", "\xff", `{"loop_name": "n", "scope": ["/p"], "pid": null}`} {
			must(t, os.WriteFile(path, []byte(text), 0o644))
			j, err := d.Create(t.Context(), persistence.Spec{Loop: "x", Scope: []string{"/p/src"}})
			if err != nil {
				t.Fatalf("%s with %q: %v", name, text, err)
			}
			must(t, j.Close(t.Context()))
		}
		alive = true
		must(t, os.WriteFile(path,
			[]byte(`{"loop_name": "n", "scope": ["/p"], "pid": 7, "started_at": "2026-11-21T09:00:00+00:00"}`), 0o644))
		var conflict *persistence.ConflictError
		_, err := d.Create(t.Context(), persistence.Spec{Loop: "x", Scope: []string{"/p/src"}})
		if !errors.As(err, &conflict) || conflict.Holder != persistence.ID(name) || conflict.Path != "/p" ||
			conflict.Owner.PID != 7 {
			t.Errorf("%s: %v, want a *ConflictError", name, err)
		}
		alive = false
		j, err := d.Create(t.Context(), persistence.Spec{Loop: "x", Scope: []string{"/p/src"}})
		if err != nil {
			t.Fatalf("%s, whose process is gone: %v", name, err)
		}
		must(t, j.Close(t.Context()))
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there after its process is gone", path)
		}
	}
}
