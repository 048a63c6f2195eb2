package sqlstore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"loops/persistence"
)

// TestForkOfAnotherProjectThatNeverBegan: a fork whose process died before anything was recorded is forgotten
// by whatever project comes first. What was copied for it is removed by its own project, and nowhere else.
func TestForkOfAnotherProjectThatNeverBegan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		a, b := opened(t, at), opened(t, at)
		a.Folder, b.Folder = filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "runs")
		must(t, create(t, b, elsewhere).Close(t.Context())) // this project, too, records in the database
		gone := exec.Command("true")
		must(t, gone.Run())
		dead := self(t)
		dead.PID, dead.Start = gone.Process.Pid, 0
		fork := spec(dead)
		fork.Origin = &persistence.Origin{ID: "fix-20260101T000000", Step: 1}
		j, err := a.Create(t.Context(), fork)
		must(t, err)
		id := string(j.Run().ID)
		for _, folder := range []string{a.Folder, b.Folder} {
			must(t, os.MkdirAll(filepath.Join(folder, id), 0o700))
			must(t, os.WriteFile(filepath.Join(folder, id, "copied"), nil, 0o600))
		}
		_, err = b.FinishRemovals(t.Context())
		must(t, err)
		if _, err := os.Stat(filepath.Join(b.Folder, id, "copied")); err != nil {
			t.Errorf("a file of another project: %v", err)
		}
		_, err = a.FinishRemovals(t.Context())
		must(t, err)
		if _, err := os.Lstat(filepath.Join(a.Folder, id)); err == nil {
			t.Error("what was copied for the fork is left")
		}
	})
}
