package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"loops/internal/testenv"
)

// A plot is a folder that a test walks.
type plot struct {
	t    *testing.T
	dir  string
	walk *Walk
}

func newPlot(t *testing.T, repository bool) *plot {
	t.Helper()
	testenv.Command(t, "git")
	p := &plot{t: t, dir: t.TempDir()}
	if repository {
		p.run("git", "init", "-q", "-b", "main")
	}
	p.walk = NewWalk(environ(), 0, p.dir, filepath.Join(t.TempDir(), "walk"))
	return p
}

func (p *plot) run(name string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

func (p *plot) sh(script string) { p.t.Helper(); p.run("bash", "-ec", script) }

func (p *plot) tree() string {
	p.t.Helper()
	tree, err := p.walk.Tree(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

// changes returns how two trees differ, as A path, M path +3.
func (p *plot) changes(from, to string) string {
	p.t.Helper()
	all, err := p.walk.Changes(p.t.Context(), from, to)
	if err != nil {
		p.t.Fatal(err)
	}
	var lines []string
	for _, c := range all {
		line := fmt.Sprintf("%c %q", c.Kind, c.Path)
		if c.Kind == Changed && c.Was != c.Mode {
			line += " " + c.Was + ">" + c.Mode
		}
		if c.Lines > 0 {
			line += fmt.Sprintf(" %d", c.Lines)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// content returns all that is in a folder but .git, with modes, links and bytes.
func content(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.IsDir() || e.Name() == ".git":
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, "%q -> %q\n", name, to)
			return err
		default:
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%q %v %q\n", name, info.Mode(), text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const start = `
mkdir -p src/deep tests
printf 'one\r\ntwo\r\n' > crlf.txt
printf '* text=auto eol=lf\n*.flt filter=evil\n' > .gitattributes
printf 'ignored/\n*.log\nkept.log\n' > .gitignore
echo a > src/a; echo b > src/deep/b; echo t > tests/t_test.go
printf '#!/bin/sh\n' > run.sh; chmod 755 run.sh
ln -s src/a link
echo d > runs.db; printf 'x' > $'line\nend "q" \303\244'
mkdir ignored; echo i > ignored/i; echo l > some.log
echo f > data.flt
echo u > untracked; chmod 600 untracked
`

// Each change is seen for what it is, and the folder is as it was, byte for byte, after a Restore.
func TestWalkSeesAndRestores(t *testing.T) {
	t.Parallel()
	changes := []struct{ name, script, want string }{
		{"nothing", `touch src/a`, ""},
		{"add", `echo n > src/new; mkdir -p x/y; echo m > x/y/m`, "A \"src/new\" 1\nA \"x/y/m\" 1"},
		{"change", `echo more >> src/a`, `M "src/a" 1`},
		{"delete", `rm -r src`, "D \"src/a\" 1\nD \"src/deep/b\" 1"},
		{"rename", `mv tests/t_test.go tests/u.go`, "D \"tests/t_test.go\" 1\nA \"tests/u.go\" 1"},
		{"mode", `chmod -x run.sh; chmod +x untracked`, "M \"run.sh\" 100755>100644\nM \"untracked\" 100644>100755"},
		{"line ends", `printf 'one\ntwo\n' > crlf.txt`, `M "crlf.txt" 4`},
		{"name", `echo y > $'line\nend "q" \303\244'`, `M "line\nend \"q\" ä" 2`},
		{"link", `ln -sf src/deep/b link`, `M "link" 2`},
		{"file to link", `ln -sf a src/deep/b`, `M "src/deep/b" 100644>120000 2`},
		{
			"folder to link", `mv src ignored/src; ln -s ignored/src src`,
			"A \"src\" 1\nD \"src/a\" 1\nD \"src/deep/b\" 1",
		},
		{"folder to file", `rm -r tests; echo f > tests`, "A \"tests\" 1\nD \"tests/t_test.go\" 1"},
		{"file to folder", `rm run.sh; mkdir run.sh; echo f > run.sh/f`, "D \"run.sh\" 1\nA \"run.sh/f\" 1"},
		{"ignored", `echo z > ignored/i; echo z > other.log`, ""},
		{"tracked and ignored", `echo z > kept.log`, `M "kept.log" 2`},
		{"hidden by ignoring", `echo '*' >> .gitignore; echo z > src/a`, "M \".gitignore\" 1\nM \"src/a\" 2"},
		{"out of the index", `[ ! -d .git ] || git rm -q --cached kept.log; echo z > kept.log`, `M "kept.log" 2`},
		{
			"committed", `[ ! -d .git ] || git add -A; [ ! -d .git ] || git commit -qm more; echo z > src/a`,
			`M "src/a" 2`,
		},
		{
			"a repository", `cd src && git init -q && git add a && git commit -qm inner && echo n > n && echo z > a`,
			"M \"src/a\" 2\nA \"src/n\" 1",
		},
		{
			"an empty repository",
			`mkdir inner && cd inner && git init -q && echo n > n && mkdir e && cd e && git init -q`, `A "inner/n" 1`,
		},
		{
			"a filter",
			`git config --global -l >/dev/null 2>&1 || :; [ ! -d .git ] || git config filter.evil.clean 'touch ran; cat'; echo g > data.flt`,
			`M "data.flt" 2`,
		},
		{
			"records",
			`echo d > runs.db-wal; echo d > runs.db; mkdir -p .loops/.running .loops/runs/r .worktrees/w; touch .loops/.running/x .loops/runs/r/y .worktrees/w/z; echo l > .loops/l.yaml`,
			`A ".loops/l.yaml" 1`,
		},
		{"special", `mkfifo pipe; mkdir empty`, ""},
	}
	for _, repository := range []bool{true, false} {
		for i, c := range changes {
			if !repository && i > 3 {
				break // it is the same
			}
			t.Run(fmt.Sprintf("%s/%v", c.name, repository), func(t *testing.T) {
				t.Parallel()
				p := newPlot(t, repository)
				p.sh(start)
				if repository {
					p.sh("echo k > kept.log; git add -A -- ':!untracked'; git add -f kept.log; git commit -qm " +
						"start; git stash list")
				}
				p.walk.Apart = []string{filepath.Join(p.dir, "runs.db")}
				before, was := p.tree(), content(t, p.dir)
				if again := p.tree(); again != before {
					t.Errorf("an unchanged folder has tree %s, then %s", before, again)
				}
				p.sh(c.script)
				after := p.tree()
				if got := p.changes(before, after); got != c.want {
					t.Errorf("changes:\n%s\nwant:\n%s", got, c.want)
				}
				state := func() string {
					if !repository {
						return ""
					}
					return p.run("git", "stash", "list") + p.run("git", "for-each-ref") +
						p.run("git", "symbolic-ref", "HEAD")
				}
				had := state()
				index, _ := os.ReadFile(filepath.Join(p.dir, ".git", "index"))
				for range 2 { // it may be repeated
					if err := p.walk.Restore(t.Context(), before); err != nil {
						t.Fatal(err)
					}
				}
				if now, _ := os.ReadFile(filepath.Join(p.dir, ".git", "index")); !bytes.Equal(index, now) {
					t.Error("the user's index was changed")
				}
				if has := state(); has != had {
					t.Errorf("the user's repository has\n%s\nand had\n%s", has, had)
				}
				if now := p.tree(); now != before {
					t.Errorf("after Restore: %s", p.changes(before, now))
				}
				if c.want != "" && !strings.Contains(c.script, "ignored/") &&
					!strings.Contains(c.script, ".worktrees") {
					if now := content(t, p.dir); now != was {
						t.Errorf("after Restore:\n%s\nbefore:\n%s", now, was)
					}
				}
				// another process begins with the same trees
				other := NewWalk(environ(), 0, p.dir, p.walk.Place)
				other.Apart = p.walk.Apart
				if now, err := other.Tree(t.Context(), before); err != nil || now != before {
					t.Errorf("another process sees %s (%v), want %s", now, err, before)
				}
			})
		}
	}
}

// A folder that is a part of a repository is walked alone, and what is ignored above it is ignored in it.
func TestWalkOfAPart(t *testing.T) {
	t.Parallel()
	p := newPlot(t, true)
	p.sh("mkdir part; echo '*.o' > .gitignore; echo a > part/a; echo b > b; git add -A; git commit -qm start")
	p.walk = NewWalk(environ(), 0, filepath.Join(p.dir, "part"), filepath.Join(t.TempDir(), "walk"))
	before := p.tree()
	p.sh("echo x > b; echo x > part/a; echo o > part/x.o; echo n > part/n")
	after := p.tree()
	if got, want := p.changes(before, after), "M \"a\" 2\nA \"n\" 1"; got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
	if err := p.walk.Restore(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, p.dir), `".gitignore" -rw-r--r-- "*.o\n"`; !strings.HasPrefix(got, want) ||
		!strings.Contains(got, `"b" -rw-r--r-- "x\n"`) ||
		!strings.Contains(got, `"part/a" -rw-r--r-- "a\n"`) || strings.Contains(got, "part/n") {
		t.Errorf("after Restore:\n%s", got)
	}
}

// What an action writes into Place is made again: it decides neither what git runs nor what is seen.
func TestWalkTrustsNothingInItsPlace(t *testing.T) {
	t.Parallel()
	p := newPlot(t, true)
	p.sh(start + "git add -A; git commit -qm start")
	before := p.tree()
	for _, spoil := range []string{
		"git config --file $W/config filter.evil.clean 'touch '$PWD'/ran; cat'; echo '* filter=evil' > " +
			"$W/info/attributes",
		"mkdir -p $W/hooks; printf '#!/bin/sh\ntouch '$PWD'/ran\n' > $W/hooks/post-index-change; chmod +x " +
			"$W/hooks/post-index-change",
		"printf '*\n' > $W/info/exclude", "rm $W/index*", "echo broken > $W/HEAD", "rm -rf $W",
		"rm $W/config; ln -s $PWD/src/a $W/config",
		"rm -r $W; ln -s $PWD/tests $W",
	} {
		p.sh("W=" + p.walk.Place + "; " + spoil + "; echo changed > src/a; echo new > new")
		if got, want := p.changes(before, p.tree()), "A \"new\" 1\nM \"src/a\" 2"; got != want {
			t.Errorf("after %s:\n%s\nwant:\n%s", spoil, got, want)
		}
		if err := p.walk.Restore(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(p.dir, "src/a")); string(b) != "a\n" {
			t.Errorf("after %s src/a is %q", spoil, b)
		}
	}
}

// Keep makes one commit for one tree and message, on top of those before it.
func TestWalkKeeps(t *testing.T) {
	t.Parallel()
	for _, repository := range []bool{true, false} {
		p := newPlot(t, repository)
		p.sh("echo a > a")
		one := p.tree()
		p.sh("echo b > b")
		two := p.tree()
		var commits []string
		for _, tree := range []string{one, one, two} {
			c, err := p.walk.Keep(t.Context(), "refs/loops-undo/run", tree, "guarded\n\nLoops-Step: 1\n")
			if err != nil {
				t.Fatal(err)
			}
			commits = append(commits, c)
		}
		if commits[0] != commits[1] || commits[1] == commits[2] {
			t.Errorf("commits %v", commits)
		}
		in := p.dir
		if !repository {
			in = p.walk.Place
		}
		if got := p.run("git", "-C", in, "log", "--format=%T %P", "refs/loops-undo/run"); got !=
			fmt.Sprintf("%s %s\n%s \n", two, commits[0], one) {
			t.Errorf("the ref has\n%s", got)
		}
	}
}

// Guards of branches and the snapshots of a run add commits to one ref at once: none is refused, none is lost.
func TestWalksKeepAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlot(t, true)
	p.sh("echo a > a")
	tree, ref := p.tree(), UndoRef("run")
	const writers = 4 // fewer than refTries: each refusal is the success of another
	var all sync.WaitGroup
	for n := range writers {
		w := NewWalk(environ(), 0, p.dir, filepath.Join(t.TempDir(), "walk"))
		all.Go(func() {
			if _, err := w.Keep(t.Context(), ref, tree, fmt.Sprintf("guarded\n\nLoops-Step: %d\n", n)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.TrimSpace(p.run("git", "rev-list", "--count", ref)); n != strconv.Itoa(writers) {
		t.Errorf("%s commits are on the ref, want %d", n, writers)
	}
}

// A walk of many files that did not change, or of which one did.
func BenchmarkWalk(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		for _, changes := range []bool{false, true} {
			b.Run(fmt.Sprintf("files=%d/changed=%v", files, changes), func(b *testing.B) {
				dir := b.TempDir()
				for i := range files {
					name := filepath.Join(dir, fmt.Sprintf("d%03d", i/50), fmt.Sprintf("f%d", i))
					if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
						os.WriteFile(name, fmt.Append(nil, "file ", i, "\n"), 0o644)); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := Command(environ(), 0)(b.Context(), dir, nil, "init", "-q"); err != nil {
					b.Fatal(err)
				}
				w := NewWalk(environ(), 0, dir, filepath.Join(b.TempDir(), "walk"))
				if _, err := w.Tree(b.Context()); err != nil {
					b.Fatal(err)
				}
				for i := range b.N {
					if changes {
						if err := os.WriteFile(filepath.Join(dir, "d000", "f1"), fmt.Append(nil, "try ", i),
							0o644); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := w.Tree(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
