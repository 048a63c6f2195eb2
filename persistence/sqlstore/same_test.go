package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/checkpoint"
	"loops/persistence/sqlstore"
)

// lose are ways to lose a database that is in use.
var lose = map[string]func(t *testing.T, file string){
	"removed": func(t *testing.T, file string) { must(t, os.Remove(file)) },
	"replaced by a backup": func(t *testing.T, file string) {
		b, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file+".backup", b, 0o600))
		must(t, os.Rename(file+".backup", file))
	},
}

// TestFileLost: a run whose database was removed or replaced ended well, and nothing of it was on record.
func TestFileLost(t *testing.T) {
	t.Parallel()
	for name, lose := range lose {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "runs.db")
			s := opened(t, "sqlite:"+file)
			j := create(t, s, elsewhere)
			must(t, j.Record(t.Context(), step(2)))
			lose(t, file)
			if err := j.Record(t.Context(), step(3)); !errors.Is(err, persistence.ErrRemoved) {
				t.Errorf("error is %v, want ErrRemoved", err)
			}
			if _, err := s.Snapshot(t.Context(), j.Run().ID); !errors.Is(err, persistence.ErrNotFound) {
				t.Errorf("of its memory: error is %v, want ErrNotFound", err)
			}
			if err := j.Close(t.Context()); err != nil && !errors.Is(err, persistence.ErrRemoved) {
				t.Error(err)
			}
		})
	}
}

// TestCheckpointsFileLost: so did checkpoints.
func TestCheckpointsFileLost(t *testing.T) {
	t.Parallel()
	for name, lose := range lose {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.db")
			s, err := sqlstore.OpenCheckpoints(t.Context(), file)
			must(t, err)
			defer s.Close()
			c := &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r"}}
			must(t, s.Save(t.Context(), c))
			lose(t, file)
			if err := s.Save(t.Context(), c); !errors.Is(err, persistence.ErrRemoved) {
				t.Errorf("error is %v, want ErrRemoved", err)
			}
			if _, err := s.Append(t.Context(), "r", checkpoint.Event{Kind: "x"}); !errors.Is(err,
				persistence.ErrRemoved) {
				t.Errorf("of an event: error is %v, want ErrRemoved", err)
			}
		})
	}
}
