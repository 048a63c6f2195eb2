package main_test

import (
	"bufio"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"loops/persistence/sqlstore"
)

// scriptsOfStores returns the scripts that also run with their records in a database of a kind. Where the store
// can matter, the first line of a script is "# stores: each"; where it should make no difference, "# stores:
// torture". Make torture runs them all on both kinds. Otherwise, each of the first sort runs on one kind, which
// its name decides; one whose head is "# stores: each, both databases" runs on both.
func scriptsOfStores(t *testing.T, kind string) (scripts []string) {
	all, err := filepath.Glob("testdata/script/*.txtar")
	must(t, err)
	for _, path := range all {
		f, err := os.Open(path)
		must(t, err)
		head := bufio.NewScanner(f)
		head.Scan()
		must(t, f.Close())
		switch mark := head.Text(); {
		case mark == "# stores: each, both databases",
			mark == "# stores: each" && (*torture || kind == databaseOf(path)),
			mark == "# stores: torture" && *torture:
			scripts = append(scripts, path)
		}
	}
	if len(scripts) < 20 {
		t.Fatalf("%d scripts have the mark of those where the store can matter", len(scripts))
	}
	return scripts
}

// databaseOf returns the kind of database on which a script runs that runs on one. It is the same whatever
// other scripts there are.
func databaseOf(script string) string {
	if crc32.ChecksumIEEE([]byte(filepath.Base(script)))%2 == 0 {
		return "sqlite"
	}
	return "postgres"
}

// TestScriptSQLite runs scripts with their records in SQLite. The database exists already, as those of the
// other stores do: that only run makes one is in testdata/script/store.txtar.
func TestScriptSQLite(t *testing.T) {
	t.Parallel()
	runScripts(t, "sqlite", scriptsOfStores(t, "sqlite"), func(env *testscript.Env) (location, name string) {
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
	runScripts(t, "postgres", scriptsOfStores(t, "postgres"), func(*testscript.Env) (location, name string) {
		return server.URL(fmt.Sprintf("s%d", schemas.Add(1))) + "&connect_timeout=30", "postgres:///" + server.Database
	})
}
