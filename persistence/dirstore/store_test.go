package dirstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/storetest"
)

func TestDir(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) persistence.Store {
		root := filepath.Join(t.TempDir(), ".loops")
		d, err := dirstore.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		return spoiler{d, root}
	})
}

// The same where every few events begin another part of the journal, and nothing is ever synced.
func TestDirOfSmallParts(t *testing.T) {
	t.Parallel()
	storetest.RunSome(t, func(t *testing.T) persistence.Store {
		root := filepath.Join(t.TempDir(), ".loops")
		d, err := dirstore.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		d.PartSize, d.Durability = 600, persistence.None
		return spoiler{d, root}
	})
}

// A spoiler damages the files of a Dir.
type spoiler struct {
	*dirstore.Store
	root string
}

func (s spoiler) events(id persistence.ID) string {
	return filepath.Join(s.root, ".running", string(id)+".events.jsonl")
}

func (s spoiler) CutEvents(id persistence.ID, n int64) error {
	st, err := os.Stat(s.events(id))
	if err != nil {
		return err
	}
	// or it would be newer
	if err := os.Remove(filepath.Join(s.root, ".running", string(id)+".state.json")); err != nil {
		return err
	}
	return os.Truncate(s.events(id), st.Size()-n)
}

func (s spoiler) SpoilEvent(id persistence.ID, seq uint64) error {
	parts, err := filepath.Glob(filepath.Join(s.root, ".running", string(id)+".events", "0*"))
	if err != nil {
		return err
	}
	for _, path := range append(parts, s.events(id)) {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if i := bytes.Index(b, fmt.Appendf(nil, `"seq": %d,`, seq)); i >= 0 {
			b[i] = 0xff
			return os.WriteFile(path, b, 0o644)
		}
	}
	return fmt.Errorf("no event %d", seq)
}

func (s spoiler) SpoilCommand(id persistence.ID, n uint64) error {
	path := filepath.Join(s.root, ".running", string(id)+".commands.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	i := bytes.Index(b, fmt.Appendf(nil, `{"n": %d,`, n))
	if i < 0 {
		return fmt.Errorf("no command %d", n)
	}
	b[i+20] ^= 1
	return errors.Join(os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path))
}

func (s spoiler) SpoilState(id persistence.ID) error {
	path := filepath.Join(s.root, ".running", string(id)+".state.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(path, b, 0o600)
}
