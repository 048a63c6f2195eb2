package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

const longLoop = `name: inject
description: hands on more than an environment holds
initial: a
states:
  a: {action: 'printf %040000d 7', capture: a, next: z}
  z: {action: 'wc -c < "$LOOPS_CAPTURED_A_FILE" > size', on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`

// TestNoRoomForWhatAnActionNeeds: a disk that was full when a long capture was to be handed to the next action
// ended the run as failed, or led it to on_error, and it could not be resumed when there was room again.
func TestNoRoomForWhatAnActionNeeds(t *testing.T) {
	t.Parallel()
	testenv.Tracing(t)
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			full := interference{calls: roomCalls, below: "/env", errno: syscall.ENOSPC}
			interrupted := 0
			for n := 1; n < 20; n++ {
				d := crashDir{t.TempDir(), store}
				must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
				must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", "inject.yaml"), []byte(longLoop), 0o644))
				code, hit, _ := d.interfere(t, full, n, "run", "inject", "--quiet")
				if hit == "" {
					break
				}
				interrupted++
				text := d.said(t)
				if code != 74 || !strings.Contains(text, "no space left on device") ||
					!strings.Contains(text, "Free or repair the disk, then: loops resume inject-") {
					t.Fatalf("%s: exit code %v: %s", hit, code, text)
				}
				d.goOn(t)
				if status := d.status(t, "inject"); status != "completed" {
					t.Errorf("%s: after the resume the run is %s", hit, status)
				}
				if size, _ := os.ReadFile(filepath.Join(d.cwd, "size")); strings.TrimSpace(string(size)) != "40000" {
					t.Errorf("%s: the action was handed %q bytes", hit, size)
				}
			}
			if interrupted < 3 {
				t.Errorf("only %d calls were refused", interrupted)
			}
		})
	}
}
