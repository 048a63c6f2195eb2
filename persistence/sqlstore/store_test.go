package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/persistence/storetest"
)

// dialects are where stores can be, by the name of the database.
var dialects = []struct {
	name     string
	location func(t testing.TB) string // of an empty database
}{
	{"SQLite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "runs.db") }},
	{"PostgreSQL", postgres},
}

// each runs a test for each dialect.
func each(t *testing.T, f func(t *testing.T, location func(t testing.TB) string)) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) { f(t, d.location) })
	}
}

// with adds parameters to a location.
func with(location, params string) string {
	for _, c := range location {
		if c == '?' {
			return location + "&" + params
		}
	}
	return location + "?" + params
}

// open opens a store with working folders of its own. The caller closes it.
func open(t testing.TB, location string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(context.WithoutCancel(t.Context()), location)
	if err != nil {
		t.Fatal(err)
	}
	s.Folder = t.TempDir()
	return s
}

// opened is open, and the test closes the store.
func opened(t testing.TB, location string) *sqlstore.Store {
	t.Helper()
	s := open(t, location)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestStore is the contract that all stores keep.
func TestStore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(t testing.TB) string) { contract(t, storetest.Run, location) })
}

// TestGrouped is the contract with decisions that wait. How long they do so is the same code for both databases.
func TestGrouped(t *testing.T) {
	t.Parallel()
	d := dialects[0]
	t.Run(d.name, func(t *testing.T) {
		contract(t, storetest.RunSome, func(t testing.TB) string { return with(d.location(t), "durability=grouped") })
	})
}

func contract(t *testing.T, run func(*testing.T, func(*testing.T) persistence.Store),
	location func(t testing.TB) string,
) {
	run(t, func(t *testing.T) persistence.Store { return spoiler{open(t, location(t))} })
}

type spoiler struct{ *sqlstore.Store }

func (s spoiler) SpoilCommand(id persistence.ID, n uint64) error {
	changed, err := s.Exec(context.Background(),
		`UPDATE commands SET body = 'x' || body WHERE n = ? AND run = (SELECT n FROM runs WHERE id = ?)`, int64(n),
		string(id))
	if err == nil && changed != 1 {
		err = fmt.Errorf("no command %d", n)
	}
	return err
}

func (s spoiler) SpoilEvent(id persistence.ID, seq uint64) error {
	n, err := s.Exec(context.Background(),
		`UPDATE events SET body = 'x' || body WHERE seq = ? AND run = (SELECT n FROM runs WHERE id = ?)`, int64(seq),
		string(id))
	if err == nil && n != 1 {
		err = fmt.Errorf("no event %d", seq)
	}
	return err
}

// TestLedger is the contract that all ledgers keep, of two connections to one database.
func TestLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(t testing.TB) string) {
		at := location(t)
		one, other := opened(t, at), opened(t, at)
		n := 0
		storetest.RunLedger(t, func(_ *testing.T, place string) persistence.Ledger {
			if n++; n%2 == 0 {
				return other.Ledger(place)
			}
			return one.Ledger(place)
		})
	})
}
