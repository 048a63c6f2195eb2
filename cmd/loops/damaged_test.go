package main_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const decisionsLoop = `name: decisions
description: has many events
initial: say
max_edge_revisits: 1000
max_steps: 1000
states:
  say: {action: 'echo said', next: a}
  a: {evaluate: {type: output_contains, source: "${state.iteration}", pattern: "200"}, on_yes: done, on_no: b}
  b: {evaluate: {type: output_contains, source: "${state.iteration}", pattern: "200"}, on_yes: done, on_no: a}
  done: {terminal: true}
`

// firstChange is what another text has from the line on that is not as in the first, with that line of the first.
func firstChange(want, got string) string {
	was, now := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range now {
		if i == len(was) || was[i] != now[i] {
			return fmt.Sprintf("line %d: was %q, is\n%s", i+1, strings.Join(was[i:min(i+1, len(was))], ""),
				strings.Join(now[i:], "\n"))
		}
	}
	return "a part: " + strings.Join(was[len(now):], "\n")
}

// TestDamagedDatabase overwrites one page of a database of SQLite after the other. A command that shows a run prints
// all of it, or reports that the database is damaged and exits with a code that is not 0: never nothing, or a part, as
// if it were all.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	const pageSize = 4096
	d := crashDir{t.TempDir(), "sqlite:runs.db"}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(d.cwd, ".loops/decisions.yaml"), []byte(decisionsLoop), 0o644))
	if code := d.start(t, "run", "decisions", "--quiet").end(t, 0); code != 0 {
		t.Fatalf("run exits with %v: %s", code, d.said(t))
	}
	looks := [][]string{
		{"events", "decisions", "--json"},
		{"history", "decisions", "-n", "0"},
		{"history", "decisions", "-v", "-n", "0", "--json"},
		{"logs", "decisions"},
		{"explain", "decisions", "--json"},
		{"stats", "decisions", "--json"},
		{"cost", "decisions", "--json"},
		{"forecast", "decisions", "--json"},
		{"report", "decisions", "-o", "-"},
		{"report", "decisions", "--format", "junit", "-o", "-"},
		{"export", "decisions", "-o", "run.tar.gz", "--force"},
	}
	want := make([]string, len(looks))
	for i, look := range looks {
		if code := d.start(t, look...).end(t, 0); code != 0 {
			t.Fatalf("%v exits with %v: %s", look, code, d.said(t))
		}
		want[i] = d.said(t)
	}
	path := filepath.Join(d.cwd, "runs.db")
	whole, err := os.ReadFile(path)
	must(t, err)
	pages := len(whole) / pageSize
	if pages < 30 {
		t.Fatalf("the database has %d pages", pages)
	}
	told := 0
	spoil := func(name string, b []byte) {
		for i, look := range looks {
			for _, end := range []string{"-wal", "-shm"} {
				must(t, removed(path+end))
			}
			must(t, os.WriteFile(path, b, 0o600))
			code := d.start(t, look...).end(t, 0)
			said := d.said(t)
			switch {
			case code == 0 && said != want[i]:
				t.Errorf("%s: %v exits with 0 and prints\n%s", name, look, cut(firstChange(want[i], said), 600))
			case code == 74 && strings.Contains(said, "damaged"):
				told++
			case code != 0:
				t.Errorf("%s: %v exits with %v and prints\n%s", name, look, code, cut(said, 600))
			}
		}
	}
	step := 1
	if !*torture {
		step = pages / 6
	}
	for n := 0; n < pages; n += step {
		b := bytes.Clone(whole)
		copy(b[n*pageSize:(n+1)*pageSize], bytes.Repeat([]byte{0xff}, pageSize))
		spoil("a page overwritten", b)
	}
	spoil("cut in half", whole[:pages/2*pageSize])
	spoil("another file", []byte("no database\n"))
	if told == 0 {
		t.Error("nothing was told")
	}
	t.Logf("damage was told %d times; the database has %d pages", told, pages)
}

// TestDamagedRow: one changed row of a database is reported by the views of the run, as a changed line of a journal is.
func TestDamagedRow(t *testing.T) {
	t.Parallel()
	const broken = "name: broken\ndescription: a test\ninitial: a\nstates:\n  a: {action: 'true', next: done}\n" +
		"  done: {terminal: true}\n"
	for _, store := range []string{"sqlite:runs.db", "postgres"} {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := crashDir{t.TempDir(), store}
			driver, at := "sqlite", filepath.Join(d.cwd, "runs.db")
			if store == "postgres" {
				driver, d.store = "pgx", startPostgres(t).URL("damaged")
				at = d.store
			}
			must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
			must(t, os.WriteFile(filepath.Join(d.cwd, ".loops/broken.yaml"), []byte(broken), 0o644))
			if code := d.start(t, "run", "broken", "--quiet").end(t, 0); code != 0 {
				t.Fatalf("run exits with %v: %s", code, d.said(t))
			}
			db, err := sql.Open(driver, at)
			must(t, err)
			_, err = db.ExecContext(t.Context(),
				"UPDATE events SET body = replace(body, 'action_start', 'action_st4rt') WHERE seq = 3")
			must(t, err)
			must(t, db.Close())
			for _, view := range [][]string{
				{"status", "broken"},
				{"explain", "broken", "--json"},
				{"report", "broken", "--format", "junit", "-o", "-"},
				{"report", "broken", "--format", "markdown", "-o", "-"},
				{"runs", "--json"},
				{"history", "broken", "--json"},
				{"list", "--json"},
			} {
				code := d.start(t, view...).end(t, 0)
				if said := d.said(t); code != 0 || !strings.Contains(said, "event 3 of run broken-") ||
					!strings.Contains(said, "checksum") {
					t.Errorf("%v exits with %v and prints\n%s", view, code, said)
				}
			}
		})
	}
}

func removed(path string) error {
	err := os.Remove(path)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
