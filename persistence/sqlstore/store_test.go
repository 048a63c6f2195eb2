package sqlstore_test

import (
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/persistence/storetest"
)

// locations are where stores can be, by the name of their dialect.
var locations = map[string]func(t testing.TB) string{
	"SQLite":     func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "runs.db") },
	"PostgreSQL": postgres,
}

// open opens a store, which is closed with the test if it was not before.
func open(t testing.TB, location string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	s.Folder = t.TempDir()
	return s
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store { return open(t, locations["SQLite"](t)) })
}

func TestPostgreSQL(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store { return open(t, locations["PostgreSQL"](t)) })
}
