package sqlstore_test

import (
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/persistence/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store {
		s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "runs.db"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
