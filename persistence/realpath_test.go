package persistence

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRealPath compares with what the system comes to, where that exists.
func TestRealPath(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	wants(t, err)
	for _, d := range []string{"src/deep", "far/away"} {
		wants(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for name, target := range map[string]string{
		"link": "src", "src/up": "../far", "abs": filepath.Join(root, "far", "away"), "dangling": "not/yet",
		"round": "round", "a": "b", "b": "a/x", "chain": "link/up",
	} {
		wants(t, os.Symlink(target, filepath.Join(root, name)))
	}
	for path, want := range map[string]string{
		"":                 "",
		".":                "",
		"src/":             "src",
		"./src/../src":     "src",
		"link/deep":        "src/deep",
		"link/new/file":    "src/new/file",
		"link/up/away/x":   "far/away/x",
		"abs/..":           "far", // not the folder that the link is in
		"chain":            "far",
		"dangling":         "not/yet",
		"dangling/x/../..": "not",
		"src/*.py":         "src/*.py",
		"gone/../src":      "src",
		"round":            "round",
	} {
		got := realPath(root + "/" + path)
		if got != filepath.Join(root, want) {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
		if real, err := filepath.EvalSymlinks(root + "/" + path); err == nil && real != got {
			t.Errorf("%q: %s, the system comes to %s", path, got, real)
		}
	}
	if got := realPath(root + "/a"); len(got) < len(root) || got[:len(root)] != root {
		t.Errorf("a circle becomes %s", got)
	}
	wd, err := os.Getwd()
	wants(t, err)
	if got := realPath("x/y"); got != filepath.Join(realPath(wd), "x/y") {
		t.Errorf("relative: %s", got)
	}
	if got := realPath("/../.."); got != "/" {
		t.Errorf("above the root: %s", got)
	}
}
