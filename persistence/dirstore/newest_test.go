package dirstore

import (
	"context"
	"os"
	"testing"
	"time"

	"loops/persistence"
)

// A clock was ahead and set back: the newest run, by its id, was another than the one just made. What is noted
// of the newest id is never believed where the names say more. (35 1.14)
func TestNewestAfterTheNoteIsWrong(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	owner := persistence.Owner{Host: "here", Boot: "b", PID: os.Getpid(), Start: 1}
	for name, wrong := range map[string]func(d *Store) error{
		"as it is": func(*Store) error { return nil },
		"missing":  func(d *Store) error { return os.Remove(d.newestFile()) },
		"damaged":  func(d *Store) error { return os.WriteFile(d.newestFile(), []byte("2026-11-"), 0o600) },
		"of another boot": func(d *Store) error {
			return os.WriteFile(d.newestFile(), []byte("2026-11-21T103405 here/a\n"), 0o600)
		},
		"too far ahead": func(d *Store) error {
			return os.WriteFile(d.newestFile(), []byte("2926-11-21T103405 here/b\n"), 0o600)
		},
	} {
		d, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		begun := func(by time.Duration) string {
			t.Helper()
			j, err := d.Create(t.Context(), persistence.Spec{Loop: "fix", Owner: owner, StartedAt: begin.Add(by)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close(context.Background()) })
			return j.Run().RunID
		}
		begun(48 * time.Hour)
		if err := wrong(d); err != nil {
			t.Fatal(err)
		}
		if got, want := begun(0), "2026-11-23T103406"; got != want {
			t.Errorf("%s: the run is %s, want %s", name, got, want)
		}
	}
}
