package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loops/persistence"
)

// A run is an ancestor only of runs that are recorded where it is: elsewhere its id may be another's.
func TestAncestors(t *testing.T) {
	root := t.TempDir()
	folder := func(name string) project {
		p := project{Dir: filepath.Join(root, name), Cwd: root, Loops: filepath.Join(root, name, ".loops")}
		if err := os.MkdirAll(p.Loops, 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	x, y := folder("x"), folder("y")
	if err := os.Symlink("x", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	link := folder("link")
	within := func(p project, env []string, id string) []string {
		a := &app{IO: IO{Env: env}}
		return a.actionEnv(a.recordsMark(p) + id)
	}
	sqlite, server := "LOOPS_STORE=sqlite:"+filepath.Join(root, "runs.db"), "LOOPS_STORE=postgres://me:secret@host/runs"
	for _, c := range []struct {
		what string
		env  []string
		in   project
		want []persistence.ID
	}{
		{"outside", nil, x, nil},
		{"of the project", within(x, nil, "a-1"), x, []persistence.ID{"a-1"}},
		{"of the project by another path", within(x, nil, "a-1"), link, []persistence.ID{"a-1"}},
		{"of another project", within(x, nil, "a-1"), y, nil},
		{"of both", within(x, within(y, within(x, nil, "a-1"), "b-1"), "a-2"), x, []persistence.ID{"a-1", "a-2"}},
		{"of an earlier version", []string{"LOOPS_ANCESTORS=a-1,b-1"}, x, []persistence.ID{"a-1", "b-1"}},
		{"of this version in one of an earlier", within(x, []string{"LOOPS_ANCESTORS=a-1"}, "b-1"), x, []persistence.ID{"a-1", "b-1"}},
		{"of another project, in the same file of SQLite", within(x, []string{sqlite}, "a-1"), y, []persistence.ID{"a-1"}},
		{"of another project, in the same database", within(x, []string{server}, "a-1"), y, []persistence.ID{"a-1"}},
		{"of the project, in another database", append(within(x, []string{sqlite}, "a-1"), server), x, nil},
		{"of the project, in files", append(within(x, []string{sqlite}, "a-1"), "LOOPS_STORE=dir"), x, nil},
	} {
		a := &app{IO: IO{Env: c.env}}
		if got := a.ancestors(c.in); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v, of %q", c.what, got, c.want, c.env)
		}
	}
}
