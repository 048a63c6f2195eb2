package engine

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/testenv"
	"loops/persistence"
)

// gitEnv is the environment of git in tests: the settings of this machine do not matter, and nothing has to outlive a
// loss of power.
func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=n",
		"GIT_AUTHOR_EMAIL=n@example.org", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.org",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none",
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always")
}

// scribbles is a runner whose actions change files at random.
type scribbles struct {
	dir  string
	rand *rand.Rand
}

// names are the paths that it works on: folders become files and files folders, and git ignores none.
func (s scribbles) name() string {
	parts := []string{"a", "b", "c d", "line\nend", "ü", "-x", "\"q\"", "dir", "sub"}
	path := parts[s.rand.IntN(len(parts))]
	for s.rand.IntN(3) > 0 && strings.Count(path, "/") < 3 {
		path += "/" + parts[s.rand.IntN(len(parts))]
	}
	return filepath.Join(s.dir, path)
}

func (s scribbles) Run(context.Context, fsm.Action, func(string)) (fsm.Result, error) {
	for range 1 + s.rand.IntN(6) {
		path := s.name()
		switch s.rand.IntN(7) {
		case 0:
			_ = os.RemoveAll(path) // a file may be where a folder of it would be
		case 1:
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				if err := os.Chmod(path, info.Mode().Perm()^0o111); err != nil {
					return fsm.Result{}, err
				}
			}
		case 2:
			_ = os.RemoveAll(path)
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.Symlink(fmt.Sprintf("to/%d", s.rand.IntN(3)), path)
			}
		default:
			if s.rand.IntN(4) == 0 {
				_ = os.RemoveAll(path)
			}
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				text := strings.Repeat(fmt.Sprintf("%d\r\n", s.rand.IntN(1000)), s.rand.IntN(20))
				if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
					_ = os.WriteFile(path, []byte(text), []fs.FileMode{0o644, 0o755}[s.rand.IntN(2)])
				}
			}
		}
	}
	return fsm.Result{}, nil
}

// filesOfTree returns what git could know of the files below a folder: contents, links, and the right to execute.
func filesOfTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch base := e.Name(); {
		case base == ".git", rel == ".loops", rel == ".worktrees":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			files[rel] = "link " + to
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		files[rel] = fmt.Sprintf("%v %s", info.Mode()&0o100 != 0, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameFiles fails unless the files of a folder are these.
func sameFiles(t *testing.T, what, dir string, want map[string]string) {
	t.Helper()
	is := filesOfTree(t, dir)
	if maps.Equal(is, want) {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if is[path] != want[path] {
			t.Errorf("%s: %q is %q, want %q", what, path, is[path], want[path])
		}
	}
	for path := range want {
		if _, there := is[path]; !there {
			t.Errorf("%s: %q is gone", what, path)
		}
	}
	t.FailNow()
}

// repositories are what an undo has to work in.
var repositories = map[string]string{
	"commits": "git init -q && echo tracked > a && echo '*.tmp' > .gitignore && echo crlf | tr '\\n' '\\r' > text " +
		"&& git add . && git commit -q -m one && echo staged > staged && git add staged",
	"empty": "git init -q",
	"submodule": "git init -q ../inner && git -C ../inner commit -q --allow-empty -m one && git init -q && git " +
		"submodule --quiet add ../inner sub && git commit -q -m one",
	"merging": "git init -q && echo 1 > a && git add . && git commit -q -m one && git checkout -q -b other && " +
		"echo 2 > a && git commit -q -am two && git checkout -q - && echo 3 > a && git commit -q -am three && ! git " +
		"merge other > /dev/null",
	"filters": "git init -q && git config core.autocrlf true && git config filter.up.clean 'tr a-z A-Z' && git " +
		"config filter.up.smudge 'tr A-Z a-z' && echo '* filter=up text=auto eol=crlf' > .gitattributes && echo x > " +
		"b && git add . && git commit -q -m one",
}

// An undo of each step, in any order, brings back the files bit for bit. Index, HEAD and stash of the repository stay.
func TestUndoEachStep(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	for name, script := range repositories {
		t.Run(name, func(t *testing.T) {
			steps := map[bool]int{true: 50, false: 10}[name == "commits"]
			if *testenv.Torture {
				steps = 1000
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
			defer cancel()
			p := newLifeProject(t, "")
			p.Env = gitEnv()
			e := New(p, Options{})
			defer e.Close()
			id := endedRun(ctx, t, e, "out")
			shell(t, p.Dir, script)
			if err := os.WriteFile(filepath.Join(p.Dir, "kept.tmp"), []byte("ignored in one of them"), 0o600); err !=
				nil {
				t.Fatal(err)
			}
			own := func() string {
				return shell(t, p.Dir, "git rev-parse -q --verify HEAD || true; git ls-files -s; git stash list; ls "+
					".git | grep -v -e ORIG_HEAD -e logs")
			}
			before := own()
			s := snapshotsOf(t, e, id)
			r := s.runner(nil, scribbles{p.Dir, rand.New(rand.NewPCG(1, uint64(len(name))))})
			files := []map[string]string{nil, filesOfTree(t, p.Dir)} // before step i
			for i := 1; i <= steps; i++ {
				if _, err := r.Run(ctx, fsm.Action{Kind: fsm.KindShell, At: fmt.Sprintf("/%d", i), Attempt: 1},
					nil); err != nil {
					t.Fatal(err)
				}
				files = append(files, filesOfTree(t, p.Dir))
			}
			order := rand.New(rand.NewPCG(2, 2)).Perm(steps)
			for _, n := range order {
				step := n + 1
				if _, err := e.Undo(ctx, UndoRequest{Run: string(id), To: fmt.Sprint(step)}); err != nil {
					t.Fatalf("undo to %d: %v", step, err)
				}
				sameFiles(t, fmt.Sprintf("before step %d", step), p.Dir, files[step])
			}
			for to, want := range map[string]map[string]string{
				UndoStart: files[1], UndoLast: files[steps+1],
				fmt.Sprintf("%d%s", steps/2, UndoAfter): files[steps/2+1],
			} {
				if _, err := e.Undo(ctx, UndoRequest{Run: string(id), To: to}); err != nil {
					t.Fatalf("undo to %s: %v", to, err)
				}
				sameFiles(t, to, p.Dir, want)
			}
			if after := own(); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if _, err := e.Remove(ctx, RemoveRequest{Runs: []string{string(id)}}); err != nil {
				t.Fatal(err)
			}
			if refs := shell(t, p.Dir, "git for-each-ref refs/loops-undo"); refs != "" {
				t.Errorf("after rm: %s", refs)
			}
		})
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	r := &action.Runner{Dir: dir, Env: gitEnv(), RunDir: t.TempDir(), Grace: time.Second, Cap: 1 << 20}
	defer r.Close()
	res, err := r.Run(t.Context(), fsm.Action{
		Kind: fsm.KindShell, Text: "set -e -o pipefail\n" + script, Step: 1,
		Attempt: 1,
	}, nil)
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%s: %v, %d, %s", script, err, res.ExitCode, res.Stderr)
	}
	return res.Stdout
}

// snapshotsOf returns what keeps the files of a run in the checkout of an engine.
func snapshotsOf(t *testing.T, e *Engine, id persistence.ID) *snapshots {
	t.Helper()
	env := undoEnv(e.p, e.o)
	w := newWalks(e.p, env, id, t.TempDir())
	s := newSnapshots(e.p, env, &snapshots{run: id, asked: true, tell: func(n Notice) { t.Errorf("%+v", n) }, walks: w})
	t.Cleanup(func() { w.close(); s.close() })
	return s
}

// What runs side by side changes the same files: each step has a snapshot with the files as they were when it
// ended, and its beginning is known although others kept what they changed since.
func TestSnapshotsSideBySide(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	p := newLifeProject(t, "")
	p.Env = gitEnv()
	e := New(p, Options{})
	defer e.Close()
	shell(t, p.Dir, "git init -q")
	s, ctx := snapshotsOf(t, e, "life-20260101T000000"), t.Context()
	begin := func(step string) string {
		t.Helper()
		commit, err := s.before(ctx, "", step, false)
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
	end := func(step, began string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.Dir, strings.ReplaceAll(step, "/", "-")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.after(ctx, "", git.Snapshot{Step: step, When: git.After, Began: began})
	}
	one, two := begin("1/#1"), begin("1/#2")
	end("1/#1", one)
	end("1/#2", two)
	a, b := begin("2/a/1"), begin("2/b/1")
	end("2/a/1", a)
	end("2/b/1", b)
	s.after(ctx, "", git.Snapshot{Step: "3", When: git.After, Began: begin("3")}) // it changes nothing
	all := s.chain.List()
	if got := labelsOf(all); got != "1/#1 before, 1/#1 after, 1/#2 after, 2/a/1 after, 2/b/1 after, 3 after" {
		t.Fatalf("it has %s", got)
	}
	for to, want := range map[string]int{
		"": 0, "1": 0, "2": 2, "2/a/1": 2, "2/b/1": 2, "2/a/1:after": 3,
		"2:after": 4, "3": 4, "3:after": 5, "1/#2": 0, "1/#1:after": 1, UndoLast: 5,
	} {
		if shot, err := snapshotAt(all, to); err != nil || shot.Commit != all[want].Commit {
			t.Errorf("%q is %s, %v, want %s", to, shot.Label(), err, all[want].Label())
		}
	}
	for _, to := range []string{"2/c/1", "x", "1:2", UndoFound} {
		if shot, err := snapshotAt(all, to); err == nil {
			t.Errorf("%q is %s", to, shot.Label())
		}
	}
}

func labelsOf(all []git.Snapshot) string {
	var labels []string
	for _, s := range all {
		labels = append(labels, s.Label())
	}
	return strings.Join(labels, ", ")
}

// Actions that end at once share looks at the files, and each has a snapshot of its own that has what it changed.
func TestSnapshotsOfManyAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	p := newLifeProject(t, "")
	p.Env = gitEnv()
	e := New(p, Options{})
	defer e.Close()
	shell(t, p.Dir, "git init -q")
	s := snapshotsOf(t, e, "life-20260101T000000")
	const many = 40
	r := s.runner(nil, runnerFunc(func(a fsm.Action) error {
		return os.WriteFile(filepath.Join(p.Dir, strings.TrimPrefix(fsm.ShownAddress(a.At), "1/")), nil, 0o600)
	}))
	var side sync.WaitGroup
	for n := range many {
		side.Go(func() {
			if _, err := r.Run(t.Context(), fsm.Action{
				Kind: fsm.KindShell, At: fmt.Sprintf("/1+#%d", n+1), Item: "x",
				Attempt: 1,
			}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	side.Wait()
	all, after := s.chain.List(), 0
	for _, shot := range all {
		if shot.When != git.After {
			continue
		}
		after++
		name := strings.TrimPrefix(shot.Step, "1/")
		if files := shell(t, p.Dir, "git ls-tree --name-only "+shot.Tree); !slices.Contains(strings.Fields(files),
			name) {
			t.Errorf("%s has %s", shot.Label(), files)
		}
	}
	if after != many {
		t.Errorf("%d of %d actions have a snapshot: %s", after, many, labelsOf(all))
	}
}

// A runnerFunc is a runner whose actions do this.
type runnerFunc func(fsm.Action) error

func (f runnerFunc) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	return fsm.Result{}, f(a)
}
