package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

// remembered returns a work tree with protected files, what is remembered of them, and a folder of a run.
func remembered(t *testing.T, files map[string]string) (tree, run string, k *Kept) {
	t.Helper()
	base := t.TempDir()
	tree, run = base+"/tree", base+"/run"
	for _, dir := range []string{tree, run, base + "/outside"} {
		testenv.Must(t, os.Mkdir(dir, 0o755))
	}
	for name, text := range files {
		testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		testenv.WriteText(t, filepath.Join(tree, name), text)
	}
	r := Resolve([]*confine.Policy{{Preset: confine.Workspace, Tmp: confine.Private}}, Place{Dir: tree, RunDir: run})
	return tree, run, r.keep(false, &known{})
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// What is put back is not written through a link that took the place of a folder, and nothing is removed through it.
func TestRestoreFollowsNoLinks(t *testing.T) {
	t.Parallel()
	tree, run, k := remembered(t, map[string]string{".claude/settings.json": "old", ".github/ci.yaml": "old"})
	outside := filepath.Dir(tree) + "/outside"
	testenv.WriteText(t, outside+"/settings.json", "mine")
	testenv.WriteText(t, outside+"/other.yaml", "mine")
	for _, name := range []string{".claude", ".github", ".vscode"} {
		_ = os.Rename(tree+"/"+name, tree+"/moved"+name)
		testenv.Must(t, os.Symlink(outside, tree+"/"+name))
	}
	found := k.Restore(run, "1")
	if got := textOf(t, outside+"/settings.json") + textOf(t, outside+"/other.yaml"); got != "minemine" {
		t.Errorf("files outside are now %q", got)
	}
	if got, err := os.ReadDir(outside); err != nil || len(got) != 2 {
		t.Errorf("outside there is %v, %v", got, err)
	}
	for _, name := range []string{"/.claude/settings.json", "/.github/ci.yaml"} {
		if got := textOf(t, tree+name); got != "old" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := os.Lstat(tree + "/.vscode"); err == nil {
		t.Errorf("the link .vscode is still there: %+v", found)
	}
}

// The folder for what was found does not lead out of the folder of the run.
func TestBreachFollowsNoLinks(t *testing.T) {
	t.Parallel()
	tree, run, k := remembered(t, nil)
	outside := filepath.Dir(tree) + "/outside"
	testenv.Must(t, os.Symlink(outside, run+"/breach"))
	testenv.WriteText(t, tree+"/.mcp.json", "new")
	found := k.Restore(run, "1")
	if got, _ := os.ReadDir(outside); len(got) != 0 {
		t.Errorf("outside there is %v", got)
	}
	if len(found) != 1 || found[0].Left == "" || textOf(t, tree+"/.mcp.json") != "new" {
		t.Errorf("found %+v, and the file is %q", found, textOf(t, tree+"/.mcp.json"))
	}
}

// Nothing that was found is lost: it is in the folder of the run.
func TestRestoreKeepsWhatItFinds(t *testing.T) {
	t.Parallel()
	tree, run, k := remembered(t,
		map[string]string{".mcp.json": "old", ".github/ci.yaml": "old", ".loops/fix.yaml": "old"})
	testenv.WriteText(t, tree+"/.mcp.json", "new 1")
	testenv.Must(t, os.RemoveAll(tree+"/.github"))
	testenv.WriteText(t, tree+"/.github", "new 2")
	testenv.Must(t, os.MkdirAll(tree+"/.codex/sub", 0o755))
	testenv.WriteText(t, tree+"/.codex/sub/config.toml", "new 3")
	testenv.Must(t, os.Remove(tree+"/.loops/fix.yaml"))
	copies := map[string]string{}
	for _, b := range k.Restore(run, "1") {
		if b.Left != "" {
			t.Errorf("%+v", b)
		}
		copies[strings.TrimPrefix(b.Path, tree+"/")] = b.Copy
	}
	for _, name := range []string{".mcp.json", ".github/ci.yaml", ".loops/fix.yaml"} {
		if got := textOf(t, tree+"/"+name); got != "old" {
			t.Errorf("%s is %q", name, got)
		}
	}
	for name, want := range map[string]string{".mcp.json": "new 1", ".github": "new 2", ".codex": "new 3"} {
		path := copies[name]
		if name == ".codex" {
			path += "/sub/config.toml"
		}
		if got := textOf(t, path); got != want || !strings.HasPrefix(path, run+"/breach/1/") {
			t.Errorf("the copy %s of %s is %q", path, name, got)
		}
	}
	if st, err := os.Stat(run + "/breach/1"); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", st, err)
	}
	if _, err := os.Lstat(tree + "/.codex"); err == nil {
		t.Error(".codex is still there")
	}
	if again := k.Restore(run, "1"); again != nil {
		t.Errorf("again: %+v", again)
	}
}

// What is too large to be remembered is never removed, and reported where it changed.
func TestLargeFilesStay(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", keptFile+1)
	tree, run, k := remembered(t, map[string]string{".github/a": large, ".github/b": large, ".github/c": large})
	at, err := os.Stat(tree + "/.github/a")
	testenv.Must(t, err)
	testenv.WriteText(t, tree+"/.github/a", strings.Repeat("y", keptFile+1))
	testenv.Must(t, os.Chtimes(tree+"/.github/a", at.ModTime(), at.ModTime()))
	testenv.Must(t, os.Remove(tree+"/.github/b"))
	found := k.Restore(run, "1")
	if len(found) != 2 || found[0].Left == "" || found[1].Left == "" || found[0].Copy != "" {
		t.Errorf("found %+v", found)
	}
	if got := textOf(t, tree+"/.github/a"); got[:1] != "y" || len(got) != keptFile+1 {
		t.Errorf("a has %d bytes", len(got))
	}
	if _, err := os.Stat(run + "/breach"); err == nil {
		t.Error("something was moved")
	}
}

// Where mounts protect what is there, nothing of it is looked at: others may change it while an action runs.
func TestMountedFilesAreLeft(t *testing.T) {
	t.Parallel()
	tree, run, _ := remembered(t, map[string]string{".mcp.json": "old"})
	k := Resolve([]*confine.Policy{{Preset: confine.Workspace}}, Place{Dir: tree}).keep(true, &known{})
	testenv.WriteText(t, tree+"/.mcp.json", "new")
	if found := k.Restore(run, "1"); found != nil || textOf(t, tree+"/.mcp.json") != "new" {
		t.Errorf("found %+v", found)
	}
}

// A file .git that an action wrote opens no other folder.
func TestRepositoryLeadsBack(t *testing.T) {
	t.Parallel()
	tree, _, _ := remembered(t, nil)
	outside := filepath.Dir(tree) + "/outside"
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = false\n"} {
		testenv.WriteText(t, outside+"/"+name, text)
	}
	testenv.WriteText(t, tree+"/.git", "gitdir: "+outside+"\n")
	if got := findRepository(tree); got.own != "" {
		t.Errorf("a folder that does not lead back: %+v", got)
	}
	testenv.WriteText(t, outside+"/gitdir", tree+"/.git\n")
	if got := findRepository(tree); got.own != outside {
		t.Errorf("one that does: %+v", got)
	}
	testenv.Must(t, os.Remove(outside+"/gitdir"))
	testenv.WriteText(t, outside+"/config", "[core]\n\tworktree = ../tree\n")
	if got := findRepository(tree); got.own != outside {
		t.Errorf("a submodule: %+v", got)
	}
}
