package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestVersions reads what earlier versions recorded, as tools/release/fixture.sh let them: every run is listed,
// explained, exported into another project, forked and resumed, on the store it was recorded in. What is
// expected is beside it, in want. `make torture` does so on all stores; otherwise each version is read from
// files and from one kind of database.
func TestVersions(t *testing.T) {
	t.Parallel()
	versions, err := filepath.Glob("testdata/versions/*")
	must(t, err)
	if len(versions) == 0 {
		t.Fatal("there are no versions")
	}
	server := startPostgres(t)
	for i, folder := range versions {
		for k, store := range []string{"dir", "sqlite", "postgres"} {
			if k > 0 && (i+k)%2 != 0 && !*torture && !testenv.Update() {
				continue
			}
			t.Run(filepath.Base(folder)+"/"+store, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "p")
				must(t, os.CopyFS(dir, os.DirFS(filepath.Join(folder, store))))
				p := versionProject{dir: dir, bin: binary(t), dsn: "dir"}
				switch store {
				case "sqlite":
					p.dsn = "sqlite:" + filepath.Join(t.TempDir(), "runs.db")
					loadSQLite(t, strings.TrimPrefix(p.dsn, "sqlite:"), filepath.Join(folder, "sqlite.sql"))
				case "postgres":
					schema := fmt.Sprintf("v%d", i)
					loadPostgres(t, server.URL("public"), schema, filepath.Join(folder, "postgres.sql"))
					p.dsn = server.URL(schema)
				}
				here := store == "dir" && recordedHere(t, dir)
				got := p.use(t)
				if here {
					got = strings.Replace(got, "paused interrupted, 1 steps, in b; explain 0; export 0; fork 0; "+
						"resume 0; import 0", "paused running, 1 steps, in b; explain 0; export 9; fork 0; "+
						"resume 9; import 4", 1)
				}
				testenv.Golden(t, filepath.Join(folder, store+".want"), got)
			})
		}
	}
}

// recordedHere reports whether this machine recorded the run that is paused, and was not rebooted since: only then is
// it known that the process of that run is dead. On any other machine the run is that of another one, and is left
// alone.
func recordedHere(t *testing.T, dir string) bool {
	t.Helper()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	locks, err := filepath.Glob(filepath.Join(dir, ".loops", ".running", "paused-*.lock"))
	must(t, err)
	if len(locks) != 1 {
		t.Fatalf("the run that is paused has the locks %q", locks)
	}
	return strings.Contains(readText(t, locks[0]), strings.TrimSpace(string(boot)))
}

// A versionProject is a copy of a project of an earlier version.
type versionProject struct{ dir, bin, dsn string }

func (p versionProject) loops(t *testing.T, store string, args ...string) (out string, code int) {
	t.Helper()
	env := append(cleanEnv(p.bin, p.dir), "LOOPS_STORE="+store)
	if args[0] == "export" || args[0] == "import" { // they start nothing
		var b bytes.Buffer
		code = view(&b, io.Discard, p.dir, env, args)
		return b.String(), code
	}
	out, _, code = answer(t, p.dir, env, args...)
	return out, code
}

// use does with each run what users do, and returns a line of each: its status, and the exit codes of the commands.
func (p versionProject) use(t *testing.T) string {
	t.Helper()
	if out, code := p.loops(t, p.dsn, "sweep"); code != 0 {
		t.Fatalf("sweep exits with %d: %s", code, out)
	}
	entries, err := filepath.Glob(filepath.Join(p.dir, ".loops", "*.yaml"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.dir, "begun"), nil, 0o644)) // what waited does not wait again
	type run struct{ id, line string }
	var runs []run
	for _, path := range entries {
		loop := strings.TrimSuffix(filepath.Base(path), ".yaml")
		out, code := p.loops(t, p.dsn, "history", loop, "--json")
		if code != 0 {
			t.Fatalf("history %s exits with %d", loop, code)
		}
		var of []map[string]any
		must(t, json.Unmarshal([]byte(out), &of))
		for _, r := range of {
			line := fmt.Sprintf("%s %v, %v steps, in %v", loop, r["status"], r["iterations"], r["current_state"])
			runs = append(runs, run{r["instance_id"].(string), line})
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return strings.Compare(a.id, b.id) })
	var lines strings.Builder
	other := "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	for _, r := range runs {
		bundle := filepath.Join(t.TempDir(), r.id+".tar.zst")
		fmt.Fprint(&lines, r.line)
		for _, c := range [][]string{
			{"explain", r.id},
			{"export", r.id, "-o", bundle},
			{"fork", r.id, "--at", "1"},
			{"resume", r.id},
		} {
			_, code := p.loops(t, p.dsn, c...)
			fmt.Fprintf(&lines, "; %s %d", c[0], code)
		}
		_, code := p.loops(t, other, "import", bundle)
		fmt.Fprintf(&lines, "; import %d\n", code)
	}
	return lines.String()
}

func loadSQLite(t *testing.T, path, dump string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	must(t, err)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
}

func loadPostgres(t *testing.T, url, schema, dump string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	must(t, err)
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	db, err := sql.Open("pgx", url+sep+"default_query_exec_mode=simple_protocol")
	must(t, err)
	defer db.Close()
	// psql's own
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(s string) bool {
		return strings.HasPrefix(s, `\`)
	})
	script := "CREATE SCHEMA " + schema + ";\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "public.", schema+".")
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
}
