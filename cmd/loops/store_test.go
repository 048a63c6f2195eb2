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
	"loops/persistence/sqlstore"
)

// storeScripts are the scripts about runs. What a person sees of them is the same wherever they are recorded.
func storeScripts() []string {
	var scripts []string
	for _, name := range []string{
		"background", "ci", "completion", "conflict", "context", "daemon", "definition", "empty", "export", "explain", "graph", "history", "history_filters", "interrupted", "list", "list_runs", "logs", "long_line", "mcp_malformed", "names", "relocated", "moved", "nested", "notify", "output", "parameters", "pause", "project", "prune", "queue", "queue_background", "queue_killed", "queue_resume", "ratelimit", "report", "fork", "extend", "resume",
		"resumecontext", "retention", "rm", "run", "signals", "status", "stop", "sweep", "watch", "worktree", "worktree_ends", "worktree_refused", "worktree_resume", "worktree_run",
	} {
		scripts = append(scripts, "testdata/script/"+name+".txtar")
	}
	return scripts
}

// TestScriptSQLite runs the scripts about runs with their records in SQLite. The database is there, as those of the other
// stores are: that only run makes one is in testdata/script/store.txtar.
func TestScriptSQLite(t *testing.T) {
	runScripts(t, "sqlite", storeScripts(), func(env *testscript.Env) (location, name string) {
		path := filepath.Join(env.WorkDir, ".loops", "runs.db")
		store, err := sqlstore.Open(context.Background(), "sqlite:"+path)
		must(t, err)
		must(t, store.Close())
		return "sqlite:.loops/runs.db", path
	})
}

// startPostgres starts a server for a test. Where there is no PostgreSQL, the test is skipped, loudly.
func startPostgres(t *testing.T, settings ...string) *pgtest.Server {
	t.Helper()
	server, err := pgtest.Start(context.Background(), append(settings, "max_connections = 300")...)
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
	return server
}

// TestScriptPostgres runs them with their records in PostgreSQL, in a schema for each script.
func TestScriptPostgres(t *testing.T) {
	server := startPostgres(t)
	var schemas atomic.Int64
	runScripts(t, "postgres", storeScripts(), func(*testscript.Env) (location, name string) {
		return server.URL(fmt.Sprintf("s%d", schemas.Add(1))), "postgres:///postgres"
	})
}
