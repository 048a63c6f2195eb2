package main_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"loops/persistence/sqlstore"
)

// scriptsOfStores returns the scripts that also run with their records in a database. Where the store can matter, the first line
// of a script is "# stores: each"; where it should make no difference, "# stores: torture", and only make torture looks.
func scriptsOfStores(t *testing.T) (scripts []string) {
	all, err := filepath.Glob("testdata/script/*.txtar")
	must(t, err)
	for _, path := range all {
		f, err := os.Open(path)
		must(t, err)
		head := bufio.NewScanner(f)
		head.Scan()
		must(t, f.Close())
		if mark := head.Text(); mark == "# stores: each" || mark == "# stores: torture" && *torture {
			scripts = append(scripts, path)
		}
	}
	if len(scripts) < 20 {
		t.Fatalf("%d scripts have the mark of those where the store can matter", len(scripts))
	}
	return scripts
}

// TestScriptSQLite runs scripts with their records in SQLite. The database exists already, as those of the other stores do: that only
// run makes one is in testdata/script/store.txtar.
func TestScriptSQLite(t *testing.T) {
	t.Parallel()
	runScripts(t, "sqlite", scriptsOfStores(t), func(env *testscript.Env) (location, name string) {
		path := filepath.Join(env.WorkDir, ".loops", "runs.db")
		store, err := sqlstore.Open(context.Background(), "sqlite:"+path)
		must(t, err)
		must(t, store.Close())
		return "sqlite:.loops/runs.db", path
	})
}

// TestScriptPostgres runs scripts with their records in PostgreSQL, in a schema for each script.
func TestScriptPostgres(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	var schemas atomic.Int64
	runScripts(t, "postgres", scriptsOfStores(t), func(*testscript.Env) (location, name string) {
		return server.URL(fmt.Sprintf("s%d", schemas.Add(1))), "postgres:///" + server.Database
	})
}
