package action

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
)

// Standard error of an action that takes its time is in a file while it runs. The file stays only where it holds more than the result does.
func TestStandardErrorIsSeenWhileItIsWritten(t *testing.T) {
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
		within(t, "the file holds what was written", func() bool { b, _ := os.ReadFile(file); return string(b) == "one\n" })
		if err := os.WriteFile(filepath.Join(r.Dir, "seen"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		res := <-done
		if b, err := os.ReadFile(file); (err == nil) != c.stays || c.stays && !strings.HasSuffix(string(b), "\n999\n1000\n") {
			t.Errorf("%s: afterwards the file holds %q, %v", c.name, b, err)
		}
		if !strings.HasPrefix(res.Stderr, "one\n") || strings.Contains(res.Stderr, file) != c.stays {
			t.Errorf("%s: %q", c.name, res.Stderr)
		}
	}
	r := newRunner(t)
	do(t, r, shell("echo quick >&2"))
	if _, err := os.Stat(filepath.Join(r.RunDir, "output")); err == nil {
		t.Error("an action that is over at once made a file")
	}
}
