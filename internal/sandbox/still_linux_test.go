//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

// atRest waits until folders have rested for as long as their marks need.
func atRest(t *testing.T, dirs ...string) {
	t.Helper()
	testenv.Wait(t, "folders at rest", func() bool {
		for _, dir := range dirs {
			if f := markFolder(dir, false); time.Since(time.Unix(f.mark.changed.Unix())) <= restTime {
				return false
			}
		}
		return true
	})
}

// restingTree returns a work tree, and the rules of a workspace for it.
func restingTree(t *testing.T) (tree string, r *Rules) {
	t.Helper()
	tree = t.TempDir() + "/tree"
	testenv.Must(t, os.MkdirAll(tree+"/.gemini", 0o755))
	testenv.WriteText(t, tree+"/.mcp.json", "mine")
	r = Resolve([]*confine.Policy{{Preset: confine.Workspace, Tmp: confine.Private}},
		Place{Dir: tree, Env: []string{}, Caches: []string{}})
	return tree, r
}

// A protected file that is made, removed or replaced between two actions is seen, also where dates are set back.
func TestChangesBetweenActions(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "a kernel with Landlock")
	}
	for name, change := range map[string]func(tree string) error{
		"nothing": func(string) error { return nil },
		"another": func(tree string) error { return os.WriteFile(tree+"/other", nil, 0o600) },
		"made":    func(tree string) error { return os.WriteFile(tree+"/opencode.json", nil, 0o600) },
		"deep":    func(tree string) error { return os.WriteFile(tree+"/.gemini/settings.json", nil, 0o600) },
		"deeper":  func(tree string) error { return os.MkdirAll(tree+"/.claude/hooks", 0o700) },
		"removed": func(tree string) error { return os.Remove(tree + "/.mcp.json") },
		"renamed": func(tree string) error { return os.Rename(tree+"/.gemini", tree+"/.codex") },
		"replaced": func(tree string) error {
			if err := os.WriteFile(tree+"/new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(tree+"/new", tree+"/.mcp.json")
		},
	} {
		for _, back := range []bool{false, true} {
			tree, r := restingTree(t)
			atRest(t, tree, tree+"/.gemini")
			s, err := newRuleset(r, 0, landlockABI())
			testenv.Must(t, err)
			known := &known{}
			was := r.keep(true, known)
			before, err := os.Stat(tree)
			testenv.Must(t, err)
			testenv.Must(t, change(tree))
			if back {
				testenv.Must(t, os.Chtimes(tree, before.ModTime(), before.ModTime()))
			}
			same := name == "nothing" || name == "another"
			if fresh := s.fresh(); fresh != same {
				t.Errorf("%s, dates set back %v: fresh is %v", name, back, fresh)
			}
			found := len(was.Restore(t.TempDir(), "1")) > 0
			gone := name == "removed" || name == "replaced" // mounts protect what is there
			if found == (same || gone) {
				t.Errorf("%s, dates set back %v: found %v", name, back, found)
			}
			s.close()
		}
	}
}

// A folder that is made where none was is looked into by later actions.
func TestFolderThatComesLater(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		testenv.Skip(t, "a kernel with Landlock")
	}
	tree, r := restingTree(t)
	atRest(t, tree)
	s, err := newRuleset(r, 0, landlockABI())
	testenv.Must(t, err)
	defer s.close()
	testenv.Must(t, os.Mkdir(tree+"/.claude", 0o700))
	atRest(t, tree, tree+"/.claude")
	for range 2 {
		if !s.fresh() {
			t.Fatal("an empty folder is no protected file")
		}
	}
	testenv.WriteText(t, tree+"/.claude/settings.json", "{}")
	if s.fresh() {
		t.Error("a protected file in it is not seen")
	}
}

// A link that takes the place of a folder is found, though it leads to the same folder.
func TestLinkToTheSameFolder(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{"/.gemini", ""} {
		tree, r := restingTree(t)
		if linked == "" { // the whole tree is in what may be changed
			r = &Rules{Write: []string{filepath.Dir(tree)}, Protect: []string{tree + "/.gemini/settings.json"}}
		}
		atRest(t, filepath.Dir(tree), tree, tree+"/.gemini")
		known := &known{}
		for range 2 {
			if found := r.keep(false, known).Restore(t.TempDir(), "1"); len(found) > 0 {
				t.Fatalf("found %+v", found)
			}
		}
		k := r.keep(false, known)
		path := tree + linked
		testenv.Must(t, os.Rename(path, path+".moved"))
		testenv.Must(t, os.Symlink(filepath.Base(path)+".moved", path))
		if found := k.Restore(t.TempDir(), "1"); len(found) != 1 || found[0].Path != path {
			t.Errorf("%s: found %+v", linked, found)
		}
	}
}
