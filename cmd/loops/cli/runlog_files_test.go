package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"loops/engine/project"
	"loops/persistence"
)

// A sized store says of every run that it takes 100 bytes.
type sized struct{ persistence.Store }

func (s sized) Sizes(context.Context, []persistence.ID, []int64) ([]int64, error) {
	return []int64{100}, nil
}

// The logs of a run count for its size, and no other's.
func TestLogsOfARun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"x-20260101T000000.log", "x-20260101T000000.log.1", "x-20260101T000000.log.3",
		"x-20260101T000000.log-20260101T000000.log", "x-20260101T0000001.log", "x-20260101T000001.log",
		"x-y-20260101T000000.log",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[persistence.ID]int64{
		"x-20260101T000000": 112, "z-20260101T000000": 100,
		"../logs/x-20260101T000000": 100,
	} {
		r := &project.Records{Store: sized{}, Logs: dir}
		if n, err := r.Sizes(t.Context(), []persistence.ID{id}, []int64{0}); err != nil || n[0] != want {
			t.Errorf("%s: %d bytes, %v; want %d", id, n, err, want)
		}
	}
}
