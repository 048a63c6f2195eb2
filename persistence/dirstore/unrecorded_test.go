package dirstore

import (
	"errors"
	"os"
	"testing"

	"loops/persistence"
)

// A loss of power before anything was durable left empty files, and the run was listed as unreadable, and kept the loop
// from being resumed: it never was.
func TestNothingDurableYet(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		spoil func(j *journal) error
		want  int
	}{
		"nothing was lost": {func(*journal) error { return nil }, 1},
		"all is empty": {
			func(j *journal) error { return truncate(j.files.events, j.files.state, j.files.lock) },
			0,
		},
		"all is zero bytes": {func(j *journal) error {
			zero := make([]byte, 253)
			return errors.Join(truncate(j.files.events), os.WriteFile(j.files.state, zero, 0o600),
				os.WriteFile(j.files.lock, zero, 0o600))
		}, 0},
		"all is empty but the lock": {func(j *journal) error { return truncate(j.files.events, j.files.state) }, 0},
		"the journal is gone": {func(j *journal) error {
			return errors.Join(truncate(j.files.state), os.Remove(j.files.events))
		}, 0},
		"half of the first batch":    {func(j *journal) error { return cutJournal(j, 150) }, 0},
		"less than its first line":   {func(j *journal) error { return cutJournal(j, 20) }, 0},
		"all but its last byte":      {func(j *journal) error { return cutJournal(j, j.offset-1) }, 0},
		"the state was whole":        {func(j *journal) error { return truncate(j.files.events, j.files.lock) }, 1},
		"the journal was whole":      {func(j *journal) error { return truncate(j.files.state, j.files.lock) }, 1},
		"a flipped bit in the first": {func(j *journal) error { return flip(j) }, 1},
	} {
		t.Run(what, func(t *testing.T) {
			d := open(t)
			j := begin(t, d, step(1))
			j.die()
			must(t, c.spoil(j))
			runs, err := d.Runs(t.Context(), persistence.Query{})
			if err != nil || len(runs) != c.want {
				t.Errorf("%d runs, %v, want %d: %+v", len(runs), err, c.want, runs)
			}
		})
	}
}

func truncate(paths ...string) error {
	for _, p := range paths {
		if err := os.Truncate(p, 0); err != nil {
			return err
		}
	}
	return nil
}

func cutJournal(j *journal, n int64) error {
	if err := truncate(j.files.state, j.files.lock); err != nil {
		return err
	}
	return os.Truncate(j.files.events, n)
}

func flip(j *journal) error {
	b, err := os.ReadFile(j.files.events)
	if err != nil {
		return err
	}
	b[30] ^= 1
	return os.WriteFile(j.files.events, b, 0o600)
}
