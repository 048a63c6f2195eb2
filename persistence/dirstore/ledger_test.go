package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/persistence"
	"loops/persistence/storetest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.RunLedger(t, func(_ *testing.T, place string) persistence.Ledger {
		return LedgerOf(filepath.Join(dir, place, ".loops"))
	})
}

// A crash at any step of a write leaves an entry as it was or as it is to be, and the next process can continue.
func TestCrashAtEachStep(t *testing.T) {
	t.Parallel()
	crash := errors.New("the power is gone")
	for _, at := range []string{"write", "rename", "sync"} {
		loops := filepath.Join(t.TempDir(), ".loops")
		l := LedgerOf(loops)
		one := persistence.Entry{List: "x", Key: "k", Added: time.Unix(0, 0), Body: []byte(`1`)}
		if err := l.Add(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		l.step = func(name string) error {
			if name == at {
				return crash
			}
			return nil
		}
		one.Rev, one.Body = 1, []byte(`2`)
		if _, err := l.Change(t.Context(), one); !errors.Is(err, crash) {
			t.Fatalf("%s: %v", at, err)
		}
		if err := l.Add(t.Context(),
			persistence.Entry{List: "x", Key: "new", Added: time.Unix(0, 0), Body: []byte(`3`)}); !errors.Is(err,
			crash) {
			t.Fatalf("%s: %v", at, err)
		}
		all, err := LedgerOf(loops).Entries(t.Context(), "x")
		want := map[string]string{"write": "1", "rename": "1", "sync": "23"}[at]
		var got string
		for _, e := range all {
			got += string(e.Body)
		}
		if err != nil || got != want {
			t.Errorf("%s: the list holds %s, want %s; %v", at, got, want, err)
		}
		if err := LedgerOf(loops).Add(t.Context(),
			persistence.Entry{List: "x", Key: "next", Added: time.Unix(0, 0), Body: []byte(`4`)}); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// An entry that cannot be read is reported, with the file: to pass over it might do twice what it is about.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	loops := filepath.Join(t.TempDir(), ".loops")
	l := LedgerOf(loops)
	if err := l.Add(t.Context(), persistence.Entry{List: "x", Key: "k", Body: []byte(`1`)}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(loops, LedgerFolder, "x", "k.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Entries(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), file+": damaged") {
		t.Errorf("the error is %v", err)
	}
	if err := l.Add(t.Context(), persistence.Entry{List: "x", Key: "k", Body: []byte(`1`)}); !errors.Is(err,
		persistence.ErrTaken) {
		t.Errorf("its key is free: %v", err)
	}
}
