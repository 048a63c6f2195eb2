package action

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGlobUnreadable(t *testing.T) {
	t.Parallel()
	dir := grown(t, "shut/x/y")
	if err := os.Chmod(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"shut/*", "shut/x/*", "**/y", "shut/x/y", "**"} {
		if got, err := asUser(t, Files{Dir: dir}, pattern); err == nil ||
			!strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}

// asUser looks for a pattern as a user who may not read everything.
func asUser(t *testing.T, f Files, pattern string) (names []string, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and its thread ends with it
		if os.Geteuid() == 0 {
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				t.Error(err)
			}
		}
		names, err = f.Glob(t.Context(), "", pattern)
	}()
	<-done
	return names, err
}
