package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loops/engine/project"
	"loops/persistence"
)

// A run is an ancestor only of runs that are recorded where it is: elsewhere its id may be another's.
func TestAncestors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := func(name string) *project.Project {
		if err := os.MkdirAll(filepath.Join(root, name, ".loops"), 0o755); err != nil {
			t.Fatal(err)
		}
		return openIn(t, filepath.Join(root, name))
	}
	x, y := folder("x"), folder("y")
	if err := os.Symlink("x", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	link := folder("link")
	within := func(p *project.Project, env []string, id string) []string {
		q := withEnv(p, env)
		return ActionEnv(q, Options{Env: env}, q.RecordsMark()+id)
	}
	sqlite, server := "LOOPS_STORE=sqlite:"+filepath.Join(root, "runs.db"), "LOOPS_STORE=postgres://me:secret@host/runs"
	for _, c := range []struct {
		what string
		env  []string
		in   *project.Project
		want []persistence.ID
	}{
		{"outside", nil, x, nil},
		{"of the project", within(x, nil, "a-1"), x, []persistence.ID{"a-1"}},
		{"of the project by another path", within(x, nil, "a-1"), link, []persistence.ID{"a-1"}},
		{"of another project", within(x, nil, "a-1"), y, nil},
		{"of both", within(x, within(y, within(x, nil, "a-1"), "b-1"), "a-2"), x, []persistence.ID{"a-1", "a-2"}},
		{"of an earlier version", []string{"LOOPS_ANCESTORS=a-1,b-1"}, x, []persistence.ID{"a-1", "b-1"}},
		{
			"of this version in one of an earlier", within(x, []string{"LOOPS_ANCESTORS=a-1"}, "b-1"), x,
			[]persistence.ID{"a-1", "b-1"},
		},
		{
			"of another project, in the same file of SQLite", within(x, []string{sqlite}, "a-1"), y,
			[]persistence.ID{"a-1"},
		},
		{"of another project, in the same database", within(x, []string{server}, "a-1"), y, []persistence.ID{"a-1"}},
		{"of the project, in another database", append(within(x, []string{sqlite}, "a-1"), server), x, nil},
		{"of the project, in files", append(within(x, []string{sqlite}, "a-1"), "LOOPS_STORE=dir"), x, nil},
	} {
		p := withEnv(c.in, c.env)
		if got := New(p, Options{Env: append([]string{}, c.env...)}).ancestors(p); fmt.Sprint(got) !=
			fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v, of %q", c.what, got, c.want, c.env)
		}
	}
}

// withEnv opens a project again, in an environment.
func withEnv(p *project.Project, env []string) *project.Project {
	p, err := project.Open(p.Dir, project.Options{Cwd: p.Cwd, Env: append([]string{}, env...)})
	if err != nil {
		panic(err)
	}
	return p
}
