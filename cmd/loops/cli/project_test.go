package cli

import (
	"os"
	"path/filepath"
	"testing"

	"loops/engine/project"
)

func TestProject(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"p/.loops", "p/deep/er", "p/inner/.loops", "bare/x"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "bare", ".loops"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cwd, dir, want string }{
		{"p", "", "p"},
		{"p/deep/er", "", "p"},
		{"p/inner", "", "p/inner"},
		{"p/.loops", "", "p"},
		{"bare/x", "", "bare/x"}, // a file is no folder
		{"bare", "../p/deep", "p"},
		{"bare", root + "/p/inner", "p/inner"},
		{"p/deep", ".", "p"},
	} {
		a := &program{IO: IO{Dir: filepath.Join(root, c.cwd)}, dir: c.dir}
		p, err := a.project()
		if err != nil {
			t.Errorf("in %s with -C %q: %v", c.cwd, c.dir, err)
			continue
		}
		if p.Dir != filepath.Join(root, c.want) || p.Loops != filepath.Join(root, c.want, ".loops") {
			t.Errorf("in %s with -C %q: got %s, want %s", c.cwd, c.dir, p.Dir, c.want)
		}
	}
	for _, dir := range []string{"nowhere", ".loops"} {
		a := &program{IO: IO{Dir: filepath.Join(root, "bare")}, dir: dir}
		if p, err := a.project(); err == nil {
			t.Errorf("-C %s: got %v", dir, p)
		}
	}
}

func TestShort(t *testing.T) {
	p := &project.Project{Dir: "/p", Cwd: "/p/deep"}
	for path, want := range map[string]string{
		"/p/deep/x": "x", "/p/.loops/a.yaml": ".loops/a.yaml", "/q/x": "/q/x", "/p": ".", "/p/deep": ".", "/pp": "/pp",
	} {
		if got := p.Short(path); got != want {
			t.Errorf("short(%s) = %s, want %s", path, got, want)
		}
	}
}

// Two projects can have runs with one id; the processes of their actions must not be mistaken.
func TestMark(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/.loops", "b/.loops"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	mark := func(dir string) string { return (&project.Project{Loops: filepath.Join(root, dir, ".loops")}).Mark() }
	if mark("a") == mark("b") {
		t.Error("two projects have one mark")
	}
	if mark("a") != mark("link") {
		t.Error("a project has two marks")
	}
}
