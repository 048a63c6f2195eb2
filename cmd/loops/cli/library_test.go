package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
)

// shelf makes a project of these files and returns its library.
func shelf(t *testing.T, catalog string, files map[string]string) *project.Library {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := &program{IO: IO{Dir: dir, Env: []string{}}}
	if catalog != "" {
		a.Env = append(a.Env, project.EnvCatalog+"="+catalog)
	}
	p, err := a.project()
	if err != nil {
		t.Fatal(err)
	}
	lib, err := p.Library()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

const child = "name: child\ndescription: a test\nbackoff: 2\nmax_steps: 7\ninitial: a\nstates: {a: {terminal: true}}\n"

func TestSubloops(t *testing.T) {
	lib := shelf(t, "more", map[string]string{
		".loops/main.yaml":     "name: main\ndescription: a test\ninitial: a\nstates: {a: {terminal: true}}\n",
		".loops/sub/main.yaml": "name: main\ndescription: a test\ninitial: a\nstates: {a: {terminal: true}}\n",
		".loops/child.yaml":    child,
		".loops/broken.yaml": "name: broken\ndescription: a test\ninitial: b\n" +
			"states: {a: {next: c}, d: {terminal: true}}\n",
		".loops/pasted.yaml": "name: pasted\ndescription: a test\ninitial: a\nstates:\n" +
			"  a: {action: 'echo $$(x)', next: d}\n  d: {terminal: true}\n",
		".loops/lib/part.yaml": "fragments: {x: {action: y}}\n",
		"more/shared.yaml":     strings.Replace(child, "child", "shared", 1),
	})
	from := func(path string) *fsm.Loop {
		f, err := lib.Load(filepath.Join(lib.Project.Dir, path))
		if err != nil || f.Loop == nil {
			t.Fatalf("%s: %v %v", path, err, f.All())
		}
		return f.Loop
	}
	plain := lib.Subloops(project.Overrides{MaxSteps: 3}, nil)
	for _, c := range []struct{ name, from, want string }{
		{"child", ".loops/main.yaml", ""},
		{"child", ".loops/sub/main.yaml", ""}, // from a folder below
		{"shared", ".loops/main.yaml", ""},    // from the catalog
		{"broken", ".loops/main.yaml", "it has mistakes: .loops/broken.yaml:3:10: "},
		{"broken", ".loops/main.yaml", "; and 1 error more; loops validate .loops/broken.yaml shows them"},
		{"pasted", ".loops/main.yaml", "[shell-pid]; loops validate"},
		{"lib/part", ".loops/main.yaml", "[library]; loops validate"},
		{"chlid", ".loops/main.yaml", "did you mean child?"},
	} {
		loop, err := plain.Loop(c.name, from(c.from))
		switch {
		case c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want one line with %q", c.name, err, c.want)
		case c.want == "" && (err != nil || loop.Name != c.name || loop.Backoff != 2*time.Second || loop.MaxSteps != 7):
			t.Errorf("%s: %+v %v", c.name, loop, err)
		}
	}
	for _, seconds := range []float64{0, 0.5} {
		loop, err := lib.Subloops(project.Overrides{Delay: seconds, DelaySet: true, MaxSteps: 3}, nil).Loop("child",
			from(".loops/main.yaml"))
		if want := time.Duration(seconds * float64(time.Second)); err != nil || loop.Backoff != want ||
			loop.MaxSteps != 7 {
			t.Errorf("--delay %v: %+v %v", seconds, loop, err)
		}
	}
	// An action may write the loop that a later state runs.
	if err := os.WriteFile(filepath.Join(lib.Project.Loops, "child.yaml"),
		[]byte(strings.Replace(child, "backoff: 2", "backoff: 3", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if loop, err := plain.Loop("child", from(".loops/main.yaml")); err != nil || loop.Backoff != 3*time.Second {
		t.Errorf("after a change on disk: %+v %v", loop, err)
	}
}

func TestCatalogMustBeAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, catalog := range []string{"file", "nowhere", "/dev/null"} {
		a := &program{IO: IO{Dir: dir, Env: []string{project.EnvCatalog + "=" + catalog}}}
		p, err := a.project()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Library(); err == nil {
			t.Errorf("%s was accepted", catalog)
		} else if code, text := explain(err); code != exitUsage || !strings.Contains(text, project.EnvCatalog) {
			t.Errorf("%s: %d %s", catalog, code, text)
		}
	}
}
