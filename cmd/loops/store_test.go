package main_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"loops/persistence/sqlstore"
)

// storedScripts are about what is recorded of runs and who owns them. What a person sees of these is the same wherever they
// are recorded.
var storedScripts = []string{
	"action_types", "answer", "background", "call", "conflict", "daemon", "export", "explain", "expressions", "for_each", "for_each_inside", "for_each_many", "parallel", "parallel_changed", "parallel_status", "parallel_trees", "message", "handoff", "history", "history_filters", "interrupted", "list", "list_runs", "logs",
	"refused", "relocated", "moved", "output", "park", "pause", "prune", "queue", "queue_asleep", "queue_killed", "queue_resume", "report", "fork", "extend", "extend_running",
	"jq", "reason", "resume", "resumecontext", "retention", "retry", "rm", "run", "runs", "scope_two_stores", "signal", "signals", "status", "stop", "stop_after_item", "sweep", "sweep_many", "wait", "watch", "worktree_resume",
	"worktree_run",
}

// besideScripts are about what surrounds runs. A database of one kind shows whether they depend on where runs are recorded;
// `make torture` runs them with each.
var besideScripts = []string{
	"ci", "completion", "context", "definition", "empty", "graph", "long_line", "mcp_malformed", "names",
	"nested", "notify", "parameters", "project", "queue_background", "ratelimit", "worktree", "worktree_ends",
	"worktree_refused",
}

// scriptsIn returns the files of scripts.
func scriptsIn(names ...string) (files []string) {
	for _, name := range names {
		files = append(files, "testdata/script/"+name+".txtar")
	}
	return files
}

// TestScriptSQLite runs the scripts about runs with their records in SQLite. The database is there, as those of the other
// stores are: that only run makes one is in testdata/script/store.txtar.
func TestScriptSQLite(t *testing.T) {
	t.Parallel()
	runScripts(t, "sqlite", scriptsIn(slices.Concat(storedScripts, besideScripts)...), func(env *testscript.Env) (location, name string) {
		path := filepath.Join(env.WorkDir, ".loops", "runs.db")
		store, err := sqlstore.Open(context.Background(), "sqlite:"+path)
		must(t, err)
		must(t, store.Close())
		return "sqlite:.loops/runs.db", path
	})
}

// TestScriptPostgres runs those about what is recorded with their records in PostgreSQL, in a schema for each script.
func TestScriptPostgres(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	var schemas atomic.Int64
	scripts := storedScripts
	if *torture {
		scripts = slices.Concat(storedScripts, besideScripts)
	}
	runScripts(t, "postgres", scriptsIn(scripts...), func(*testscript.Env) (location, name string) {
		return server.URL(fmt.Sprintf("s%d", schemas.Add(1))), "postgres:///postgres"
	})
}
