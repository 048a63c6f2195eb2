package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"loops/internal/testenv"
	"loops/persistence"
)

// A command that read an archive whose record had been damaged for long waited each time for a write that no one did.
func TestNoWaitForDamageThatIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		at := begin(t, d, step(1)).files.state
		cut := func(path string) {
			b, err := os.ReadFile(path)
			must(t, errors.Join(err, os.WriteFile(path, b[:len(b)/2], 0o600)))
		}
		var archived []string
		for i := range 3 {
			r := ended(t, d, "fix", 10+i)
			archived = append(archived, filepath.Join(d.history, folderName(r.RunID, "fix")))
		}
		cut(at)
		cut(filepath.Join(archived[0], "state.json"))
		must(t, os.Rename(filepath.Join(archived[1], "events.jsonl"), filepath.Join(archived[1], "elsewhere")))
		must(t, os.MkdirAll(filepath.Join(archived[1], "events"), 0o700))
		waited := func() time.Duration {
			t.Helper()
			began := time.Now()
			runs, err := d.Runs(t.Context(), persistence.Query{})
			if must(t, err); len(runs) != 4 {
				t.Fatalf("%d runs", len(runs))
			}
			return time.Since(began)
		}
		if waited() == 0 { // the clock of this test is behind that of the files
			t.Error("what was written just now was looked at once")
		}
		testenv.Pass(200 * 365 * 24 * time.Hour)
		if long := waited(); long != 0 {
			t.Errorf("what was written long ago was waited for, %v", long)
		}
	})
}
