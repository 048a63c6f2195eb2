package action

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

// Standard error of an action that takes its time is in a file while it runs. The file stays only where it
// holds more than the result does.
func TestStandardErrorIsSeenWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		stays        bool
	}{
		{"short", "echo one >&2; until [ -e seen ]; do sleep 0.01; done; echo two >&2", false},
		{"long", "echo one >&2; until [ -e seen ]; do sleep 0.01; done; seq 1000 >&2", true},
	} {
		r := newRunner(t)
		r.Cap = 1000
		file := filepath.Join(r.RunDir, "output", "000001-a.err")
		done := make(chan fsm.Result, 1)
		go func() {
			res, err := r.Run(context.Background(), shell(c.script), nil)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		testenv.Wait(t, "the file holds what was written", func() bool {
			b, _ := os.ReadFile(file)
			return string(b) == "one\n"
		})
		if err := os.WriteFile(filepath.Join(r.Dir, "seen"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		res := <-done
		if b, err := os.ReadFile(file); (err == nil) != c.stays ||
			c.stays && !strings.HasSuffix(string(b), "\n999\n1000\n") {
			t.Errorf("%s: afterwards the file holds %q, %v", c.name, b, err)
		}
		if !strings.HasPrefix(res.Stderr, "one\n") || strings.Contains(res.Stderr, file) != c.stays {
			t.Errorf("%s: %q", c.name, res.Stderr)
		}
	}
	r := newRunner(t)
	began := time.Now()
	do(t, r, shell("echo quick >&2"))
	took := time.Since(began) // a busy machine may make it a long one
	if _, err := os.Stat(filepath.Join(r.RunDir, "output")); err == nil && took < showAfter {
		t.Error("an action that is over at once made a file")
	}
}

// A disk that is full, or a folder that cannot be made, hides standard error while it is written. The action is not
// affected, and a text that is too long to be held gets its file all the same, whole and once.
func TestStandardErrorThatCannotBeShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		first func(path string) (*os.File, error)
	}{
		{"no room", func(path string) (*os.File, error) {
			if err := os.Symlink("/dev/full", path); err != nil {
				return nil, err
			}
			return os.OpenFile(path, os.O_WRONLY, 0)
		}},
		{"no file", func(string) (*os.File, error) { return nil, os.ErrPermission }},
	} {
		dir, made := t.TempDir(), 0
		var k keeper
		k.reset(1000, 1000, func() (*os.File, error) {
			if made++; made == 1 {
				return c.first(filepath.Join(dir, "first"))
			}
			return os.Create(filepath.Join(dir, "second"))
		}, &settler{})
		add := func(text string) {
			t.Helper()
			if err := k.add([]byte(text), []byte(text)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		add("one\n")
		k.show()
		add("two\n")
		if err := k.flush(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if text, cut := k.text(); text != "one\ntwo\n" || cut || k.path != "" {
			t.Errorf("%s: %q, %v, %q", c.name, text, cut, k.path)
		}
		if _, err := os.Lstat(filepath.Join(dir, "first")); err == nil {
			t.Errorf("%s: a file is left that holds nothing", c.name)
		}
		long := strings.Repeat("x", 1200)
		add(long)
		k.hide()
		if err := k.flush(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "second")); string(b) != "one\ntwo\n"+long || err != nil {
			t.Errorf("%s: the file has %d bytes, %v", c.name, len(b), err)
		}
		_ = k.file.Close()
	}
}
