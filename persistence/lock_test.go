package persistence

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A process that was stopped while it had the store's lock must not keep others waiting for ever.
func TestStoreLockThatIsNotLetGo(t *testing.T) {
	d, err := OpenDir(t.TempDir())
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
	if err := flock(f, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(t.Context(), Spec{Loop: "x"}); !errors.Is(err, ErrBusy) {
		t.Errorf("error is %v, want ErrBusy", err)
	}
	if err := flock(f, syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	j, err := d.Create(t.Context(), Spec{Loop: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
