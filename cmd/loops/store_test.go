package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"loops/internal/pgtest"
)

// storeScripts are the scripts about runs. What a person sees of them is the same wherever they are recorded.
func storeScripts() []string {
	var scripts []string
	for _, name := range []string{
		"conflict", "context", "definition", "history", "interrupted", "list", "names", "output", "parameters", "project", "resume",
		"resumecontext", "run", "signals", "status", "stop", "sweep", "worktree",
	} {
		scripts = append(scripts, "testdata/script/"+name+".txtar")
	}
	return scripts
}

// TestScriptSQLite runs the scripts about runs with their records in SQLite.
func TestScriptSQLite(t *testing.T) {
	runScripts(t, "sqlite", storeScripts(), func(env *testscript.Env) (location, name string) {
		return "sqlite:.loops/runs.db", filepath.Join(env.WorkDir, ".loops", "runs.db")
	})
}

// TestScriptPostgres runs them with their records in PostgreSQL, in a schema for each script.
func TestScriptPostgres(t *testing.T) {
	server, err := pgtest.Start(context.Background(), "max_connections = 100")
	if errors.Is(err, pgtest.ErrMissing) {
		fmt.Fprintf(os.Stderr, "SKIP %s: PostgreSQL is not tested: %v\n", t.Name(), err)
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() {
		if err := server.Remove(); err != nil {
			t.Error(err)
		}
	})
	var schemas atomic.Int64
	runScripts(t, "postgres", storeScripts(), func(*testscript.Env) (location, name string) {
		return server.URL(fmt.Sprintf("s%d", schemas.Add(1))), "postgres:///postgres"
	})
}
