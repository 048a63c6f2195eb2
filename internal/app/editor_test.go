package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/fsm"
)

const good = "name: count\ndescription: Counts\ninitial: one\nstates:\n  one: {action: echo 1, next: done}\n" +
	"  done: {terminal: true}\n"

func open(t *testing.T, files map[string]string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, ".loops", name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)))
	}
	p, err := project.Open("", project.Options{Cwd: dir, Env: []string{"HOME=" + dir}})
	must(t, err)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestSave(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{"count.yaml": good})
	f, err := OpenLoopFile(p, "count")
	must(t, err)
	if f.Text != good {
		t.Fatalf("it reads %q", f.Text)
	}
	broken := strings.Replace(good, "next: done", "next: nowhere", 1)
	_, _, err = SaveLoopFile(p, f, f.Hash, broken, false)
	invalid, is := errors.AsType[*InvalidError](err)
	if !is || len(invalid.Problems) == 0 || invalid.Problems[0].Pos.Line != 5 || content(t, f.Path) != good {
		t.Errorf("a text with a mistake in line 5: %v, and the file is %q", err, content(t, f.Path))
	}
	if problems, err := CheckText(p, f, broken); err != nil || project.CountErrors(problems) != 1 ||
		problems[0].Severity != fsm.SeverityError {
		t.Errorf("its problems are %v, %v", problems, err)
	}
	now, problems, err := SaveLoopFile(p, f, f.Hash, broken, true)
	if err != nil || project.CountErrors(problems) != 1 || content(t, f.Path) != broken || now.Hash == f.Hash {
		t.Errorf("despite them: %v, %v, %q", problems, err, content(t, f.Path))
	}
	if _, _, err = SaveLoopFile(p, f, f.Hash, good, false); !isChanged(err) || content(t, f.Path) != broken {
		t.Errorf("with the hash of before: %v, and the file is %q", err, content(t, f.Path))
	}
	if _, _, err = SaveLoopFile(p, now, now.Hash, good, false); err != nil || content(t, f.Path) != good {
		t.Errorf("with the hash of now: %v, and the file is %q", err, content(t, f.Path))
	}
	info, err := os.Stat(f.Path)
	if must(t, err); info.Mode().Perm() != 0o640 {
		t.Errorf("its mode became %v", info.Mode())
	}
	names, err := os.ReadDir(filepath.Dir(f.Path))
	if must(t, err); len(names) != 1 {
		t.Errorf("something was left beside it: %v", names)
	}
	must(t, os.Remove(f.Path))
	if _, _, err := SaveLoopFile(p, now, hashOf([]byte(good)), good, false); err == nil {
		t.Errorf("a file that was removed meanwhile came back")
	}
}

func isChanged(err error) bool {
	_, is := errors.AsType[*ChangedError](err)
	return is
}

func TestLineEndsStay(t *testing.T) {
	t.Parallel()
	windows := strings.ReplaceAll(good, "\n", "\r\n")
	p := open(t, map[string]string{"count.yaml": windows})
	f, err := OpenLoopFile(p, "count")
	if must(t, err); f.Text != good {
		t.Fatalf("it reads %q", f.Text)
	}
	if _, _, err := SaveLoopFile(p, f, f.Hash, strings.Replace(good, "Counts", "Counts up", 1), false); err != nil ||
		content(t, f.Path) != strings.Replace(windows, "Counts", "Counts up", 1) {
		t.Errorf("%v: %q", err, content(t, f.Path))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{
		"count.yaml": good, "tail.yaml": good + "\x07", "mixed.yaml": good + "# x\r\n",
		"latin.yaml": good + "# \xe4\n", "long.yaml": good + strings.Repeat("# x\n", 70_000),
	})
	outside := filepath.Join(p.Dir, "outside.yaml")
	must(t, os.WriteFile(outside, []byte(good), 0o600))
	must(t, os.Symlink("../outside.yaml", filepath.Join(p.Loops, "link.yaml")))
	must(t, os.Symlink("count.yaml", filepath.Join(p.Loops, "inner.yaml")))
	for _, name := range []string{
		"../outside", "../outside.yaml", outside, "link", "tail", "mixed", "latin", "long",
		"none", "count\x00", "",
	} {
		if f, err := OpenLoopFile(p, name); err == nil {
			t.Errorf("%q is opened: %s", name, f.Path)
		}
	}
	f, err := OpenLoopFile(p, "inner")
	must(t, err)
	if _, _, err := SaveLoopFile(p, f, f.Hash, strings.Replace(good, "Counts", "By a link", 1), false); err != nil ||
		!strings.Contains(content(t, filepath.Join(p.Loops, "count.yaml")), "By a link") {
		t.Errorf("a link inside: %v", err)
	}
	if info, err := os.Lstat(filepath.Join(p.Loops, "inner.yaml")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if _, _, err := SaveLoopFile(p, f, hashOf([]byte(content(t, f.Path))), good+"\x07", true); err == nil {
		t.Errorf("control characters were saved")
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	words, err := KeyWords(nil)
	must(t, err)
	states := words[""].Keys["states"]
	if states == nil || states.Any == nil || states.Any.Of != "state" {
		t.Fatalf("states are %+v", states)
	}
	state := words["state"]
	if state.Keys["evaluate"].Of != "evaluate" || state.Keys["terminal"].Values[0] != "false" ||
		state.Keys["next"].About == "" {
		t.Errorf("a state has %+v", state.Keys)
	}
	kinds := words["evaluate"].Keys["type"].Values
	if !strings.Contains(strings.Join(kinds, " "), "output_contains") {
		t.Errorf("the types of evaluate are %v", kinds)
	}
}
