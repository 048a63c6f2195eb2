package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// A chain has what was added to it, in order, with the files of that time; commits of others on its ref are left out.
func TestChain(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	dir, git := t.TempDir(), Command(environ(), 0)
	run1(t, dir, "init", "-q")
	walk := NewWalk(environ(), 0, dir, t.TempDir())
	open := func() *Chain {
		t.Helper()
		c, err := OpenChain(t.Context(), git, dir, run)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	labels := func() (all []string) {
		t.Helper()
		for _, s := range open().List() {
			all = append(all, s.Label())
		}
		return all
	}
	add := func(c *Chain, text string, s Snapshot) string {
		t.Helper()
		write(t, dir, map[string]string{"a.txt": text})
		tree, err := walk.Tree(t.Context())
		if err == nil {
			text, err = c.Add(t.Context(), tree, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := labels(); got != nil {
		t.Errorf("before anything: %q", got)
	}
	c := open()
	c.Batch(environ(), 0)
	defer c.Close()
	first := add(c, "1", Snapshot{Step: "1", When: Before})
	add(c, "2", Snapshot{Step: "2/b/1", When: After, Began: first})
	other := open() // another process, which did not see what follows
	add(c, "3", Snapshot{When: Found})
	add(other, "4", Snapshot{Step: "3", When: Restored})
	tree := run1(t, dir, "rev-parse", UndoRef(run)+"^{tree}")
	theirs := run1(t, dir, "commit-tree", tree, "-p", UndoRef(run), "-m", "guarded")
	run1(t, dir, "update-ref", UndoRef(run), theirs)
	add(c, "5", Snapshot{Step: "4/#2/1", When: After})
	if got, want := labels(),
		[]string{"1 before", "2/b/1 after", "found", "3 restored", "4/#2/1 after"}; !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	all := c.List()
	if all[1].Began != first || all[0].Began != "" || all[4].Commit != c.Last("").Commit {
		t.Errorf("%+v", all)
	}
	for i, s := range all {
		if got := run1(t, dir, "show", s.Commit+":a.txt"); got != fmt.Sprint(i+1) {
			t.Errorf("%s has %q", s.Label(), got)
		}
	}
	if text := run1(t, dir, "log", "-1", "--format=%(trailers:key=Loops-Step,valueonly)",
		all[1].Commit); strings.TrimSpace(text) != "2/b/1 after" {
		t.Errorf("git reads the trailer %q", text)
	}
	// a process that was killed before the ref had it left a commit that nothing names
	run1(t, dir, "commit-tree", tree, "-p", UndoRef(run), "-m", (Snapshot{Step: "9", When: After}).message(run))
	if got := labels(); len(got) != 5 {
		t.Errorf("after a kill: %q", got)
	}
	bundle := filepath.Join(t.TempDir(), "undo.bundle")
	if has, err := WriteBundle(t.Context(), git, dir, run, bundle); !has || err != nil {
		t.Fatal(has, err)
	}
	if err := ForgetUndo(t.Context(), git, dir, []string{"another", run}); err != nil || labels() != nil {
		t.Errorf("after it was forgotten: %q, %v", labels(), err)
	}
	if has, err := WriteBundle(t.Context(), git, dir, run, bundle+"2"); has || err != nil {
		t.Error(has, err)
	}
	for range 2 { // the second time it is there
		if err := ReadBundle(t.Context(), git, dir, run, bundle); err != nil || len(labels()) != 5 {
			t.Errorf("out of a bundle: %q, %v", labels(), err)
		}
	}
	if err := ForgetUndo(t.Context(), git, t.TempDir(), []string{run}); err != nil {
		t.Errorf("outside of a repository: %v", err)
	}
}

// The files of a work tree are on the second parent of a commit that has those of the run's own folder, so that what
// follows the first parents sees one folder alone. They travel and go with the others.
func TestChainOfWorkTrees(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	dir, git := t.TempDir(), Command(environ(), 0)
	run1(t, dir, "init", "-q")
	c, err := OpenChain(t.Context(), git, dir, run)
	if err != nil {
		t.Fatal(err)
	}
	walk := NewWalk(environ(), 0, dir, t.TempDir())
	defer walk.Close()
	add := func(text string, s Snapshot) {
		t.Helper()
		write(t, dir, map[string]string{"a.txt": text})
		tree, err := walk.Tree(t.Context())
		if err == nil {
			_, err = c.Add(t.Context(), tree, s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const x, y = ".worktrees/x", ".worktrees/y z"
	add("x1", Snapshot{Step: "1/x/1", When: Before, Folder: x}) // before there is one of the folder itself
	add("0", Snapshot{Step: "1", When: Before})
	add("x2", Snapshot{Step: "1/x/1", When: After, Folder: x})
	add("y1", Snapshot{Step: "1/y/1", When: After, Folder: y})
	add("1", Snapshot{Step: "2", When: After})
	bundle := filepath.Join(t.TempDir(), "undo.bundle")
	if has, err := WriteBundle(t.Context(), git, dir, run, bundle); !has || err != nil {
		t.Fatal(has, err)
	}
	if err := ForgetUndo(t.Context(), git, dir, []string{run}); err != nil {
		t.Fatal(err)
	}
	run1(t, dir, "gc", "-q", "--prune=now")
	if err := ReadBundle(t.Context(), git, dir, run, bundle); err != nil {
		t.Fatal(err)
	}
	again, err := OpenChain(t.Context(), git, dir, run)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, s := range again.List() {
		if was := c.List()[i]; s.Commit != was.Commit || s.Tree != was.Tree {
			t.Errorf("it is %+v, and was %+v", s, was)
		}
		got = append(got, s.Label()+" "+s.Folder+" "+run1(t, dir, "show", s.Commit+":a.txt"))
	}
	want := []string{
		"1/x/1 before " + x + " x1", "1 before  0", "1/x/1 after " + x + " x2",
		"1/y/1 after " + y + " y1", "2 after  1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	if again.Last(x).Step != "1/x/1" || again.Last("").Step != "2" || again.Last(".worktrees/z").Commit != "" ||
		again.Aside() {
		t.Errorf("the last are %+v", again.all)
	}
	if got := run1(t, dir, "log", "--first-parent", "--reverse", "--format=%T",
		UndoRef(run)); len(strings.Fields(got)) != 6 ||
		strings.Contains(strings.Join(strings.Fields(got)[2:], " "), again.Last(x).Tree) {
		t.Errorf("the first parents have the trees %s", got)
	}
	if got := run1(t, dir, "log", "--reverse", "--format=%s %T",
		again.Last(x).Commit); len(strings.Split(got, "\n")) != 2 {
		t.Errorf("the work tree has %s", got)
	}
}

// A version of git that answers a batch only at its end moves the ref by a process each time.
func TestBatchOfOlderGit(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]bool{
		"git version 2.33.8": false, "git version 2.34.0": true, "git version 2.39.5 (Apple Git-154)": true,
		"git version 3.0.0": true, "git version 1.99": false, "": false, "git": false,
	} {
		if got := atLeast(printed, batchVersion); got != want {
			t.Errorf("%q: %v", printed, got)
		}
	}
}

// BenchmarkSnapshot measures what a step costs that changes one of so many files: a look before it, and a look and a
// commit after it.
func BenchmarkSnapshot(b *testing.B) {
	testenv.Command(b, "git")
	for _, n := range []int{1_000, 10_000} {
		for _, changes := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d/changes=%v", n, changes), func(b *testing.B) {
				dir, git := b.TempDir(), Command(os.Environ(), 0)
				for i := range n {
					path := filepath.Join(dir, fmt.Sprintf("%02d", i%100), fmt.Sprintf("%d.txt", i))
					_ = os.MkdirAll(filepath.Dir(path), 0o755)
					if err := os.WriteFile(path, fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
						b.Fatal(err)
					}
				}
				for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
					if _, err := git(b.Context(), dir, who, args...); err != nil {
						b.Fatal(err)
					}
				}
				walk := NewWalk(os.Environ(), 0, dir, b.TempDir())
				c, err := OpenChain(b.Context(), git, dir, run)
				if err != nil {
					b.Fatal(err)
				}
				keep := func(ctx context.Context, s Snapshot) {
					tree, err := walk.Tree(ctx)
					if err == nil && tree != c.Last("").Tree {
						_, err = c.Add(ctx, tree, s)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				keep(b.Context(), Snapshot{Step: "1", When: Before})
				for i := 0; b.Loop(); i++ {
					keep(b.Context(), Snapshot{Step: fmt.Sprint(i), When: Before})
					if changes {
						if err := os.WriteFile(filepath.Join(dir, "07", "7.txt"), fmt.Appendf(nil, "step %d\n", i),
							0o644); err != nil {
							b.Fatal(err)
						}
					}
					keep(b.Context(), Snapshot{Step: fmt.Sprint(i), When: After})
				}
			})
		}
	}
}
