package git

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ run, given, path, branch string }{
		{"fix-20261121T103405", "", "fix-20261121T103405", "loops/fix-20261121T103405"},
		{"fix-20261121T103405", "topic", "fix-20261121T103405", "topic"},
		{"a b%2Fc..d-20261121T103405", "", "a-b-2Fc.d-20261121T103405", "loops/a-b-2Fc.d-20261121T103405"},
		{"-Prüfung.", "", "Pr-fung", "loops/Pr-fung"},
	} {
		got := Tree{Branch: c.given}.Own("/p", c.run)
		if want := filepath.Join("/p", TreesFolder, c.path); got.Path != want || got.Branch != c.branch ||
			got.Project() != "/p" {
			t.Errorf("%q: %+v, want %s and %s", c.run, got, want, c.branch)
		}
	}
}

// fakeTree makes what git makes of a work tree, as far as marks go.
func fakeTree(t *testing.T, project, name string) string {
	t.Helper()
	path, own := filepath.Join(project, TreesFolder, name), filepath.Join(project, ".git", "worktrees", name)
	for _, dir := range []string{filepath.Join(path, "src"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: "+own+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is there of another run is not taken for one's own.
func TestFree(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	tip := ""
	git := func(context.Context, string, ...string) (string, error) { return tip, nil }
	tree := Tree{Branch: "topic", New: true}.Own(project, "a")
	if err := tree.Free(t.Context(), git); err != nil {
		t.Error(err)
	}
	tip = "1a2b3c"
	if err := tree.Free(t.Context(), git); err == nil {
		t.Error("the branch is there")
	}
	tip = ""
	fakeTree(t, project, "a")
	if err := tree.Free(t.Context(), git); err == nil {
		t.Error("the folder is there")
	}
	tree.Before = "b"
	if err := tree.Free(t.Context(), git); err != nil {
		t.Error(err)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	path := fakeTree(t, project, "a")
	if m, in := Around(path); in {
		t.Errorf("a tree of nobody is that of %+v", m)
	}
	h, err := Tree{Path: path, Branch: "topic", Sub: "src"}.hold("a run with a long id")
	if err != nil {
		t.Fatal(err)
	}
	m, in := Around(filepath.Join(path, "src"))
	if !in || m.Run != "a run with a long id" || m.Tree.Path != path || m.Tree.Dir() != filepath.Join(path, "src") ||
		m.Tree.Branch != "topic" {
		t.Errorf("%v, %+v", in, m)
	}
	if !busy(path) {
		t.Error("nobody is in it")
	}
	if _, err := (Tree{Path: path}).hold("b"); err == nil {
		t.Error("two have it")
	}
	h.Release()
	if h, err = (Tree{Path: path}).hold("b"); err != nil {
		t.Fatal(err)
	}
	h.Release()
	if m, err := ReadMark(path); err != nil || m.Run != "b" || busy(path) {
		t.Errorf("%+v, %v", m, err)
	}
	// Its writer was killed.
	if err := os.WriteFile(markFile(path), []byte(`{"run":"b`), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadMark(path); err != nil || m.Run != "" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, dir := range []string{project, filepath.Join(project, TreesFolder), "/"} {
		if m, in := Around(dir); in {
			t.Errorf("%s is in %+v", dir, m)
		}
	}
}

// A tree is not removed under a run that is in it, and no process enters one that goes.
func TestEnter(t *testing.T) {
	t.Parallel()
	path := fakeTree(t, t.TempDir(), "a")
	guest, err := Enter(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, shut, err := door(path, syscall.LOCK_EX); !shut || err != nil {
		t.Errorf("it can be removed: %v", err)
	}
	second, err := Enter(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []io.Closer{guest, second} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	f, shut, err := door(path, syscall.LOCK_EX)
	if shut || err != nil {
		t.Fatalf("nobody is in it: %v", err)
	}
	if _, err := Enter(path); err == nil {
		t.Error("a user entered a tree that goes")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Enter(filepath.Join(path, "src")); err == nil {
		t.Error("a user entered what is no tree")
	}
}
