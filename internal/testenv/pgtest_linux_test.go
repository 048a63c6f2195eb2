package testenv_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// A server leaves no shared memory on the machine, however it ended.
func TestPostgresLeavesNoMemory(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testenv.PostgresServer) error{
		"running": func(*testenv.PostgresServer) error { return nil },
		"stopped": (*testenv.PostgresServer).Stop,
		"killed":  (*testenv.PostgresServer).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := testenv.StartPostgres(context.Background(), testenv.QuickSettings...)
			if errors.Is(err, testenv.ErrNoPostgres) {
				testenv.Skip(t, "PostgreSQL: "+err.Error())
			}
			testenv.Must(t, err)
			lines := strings.Split(testenv.ReadText(t, filepath.Join(s.Dir, "data", "postmaster.pid")), "\n")
			if len(lines) < 7 || len(strings.Fields(lines[6])) != 2 {
				t.Fatalf("postmaster.pid names no segment: %q", lines)
			}
			id := strings.Fields(lines[6])[1]
			has := func() bool {
				for line := range strings.Lines(testenv.ReadText(t, "/proc/sysvipc/shm")) {
					if f := strings.Fields(line); len(f) > 1 && f[1] == id {
						return true
					}
				}
				return false
			}
			if !has() {
				t.Fatalf("segment %s is not there while the server runs", id)
			}
			if err := errors.Join(end(s), s.Remove()); err != nil {
				t.Fatal(err)
			}
			if has() {
				t.Errorf("segment %s is still there", id)
			}
			if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its folder is still there: %v", err)
			}
		})
	}
}
