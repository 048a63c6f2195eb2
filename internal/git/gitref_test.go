package git

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/internal/testenv"
)

const run = "fix-20261121T103405"

// environ is the environment of git in tests: nothing has to outlive a loss of power, and the settings of this
// machine do not matter.
func environ() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none")
}

// run1 runs git for the test itself.
func run1(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := Command(append(environ(), who...), 0)(t.Context(), dir, nil, args...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// remote makes a repository that workers push to, with one commit.
func remote(t *testing.T) (dir, base string) {
	t.Helper()
	testenv.Command(t, "git")
	dir = filepath.Join(t.TempDir(), "remote.git")
	run1(t, filepath.Dir(dir), "init", "-q", "--bare", "-b", "main", dir)
	work := t.TempDir()
	run1(t, work, "clone", "-q", dir, ".")
	write(t, work, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", ".gitignore": "*.tmp\n"})
	run1(t, work, "add", "-A")
	run1(t, work, "commit", "-q", "-m", "base")
	run1(t, work, "push", "-q", "origin", "HEAD:main")
	return dir, run1(t, work, "rev-parse", "HEAD")
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err !=
			nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "(absent)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// worker opens a work tree of the run on a machine of its own.
func worker(t *testing.T, git RunEnv, machine, remote, commit string, include ...string) *RefTree {
	t.Helper()
	m, err := OpenMirror(t.Context(), git, machine, remote)
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Tree(t.Context(), run, commit, include, []string{".loops/runs"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func claim(t *testing.T, w *RefTree, epoch int64) {
	t.Helper()
	if err := w.Claim(t.Context(), epoch, ""); err != nil {
		t.Fatal(err)
	}
}

func keep(t *testing.T, w *RefTree) string {
	t.Helper()
	c, err := w.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func isLost(err error) bool {
	_, is := errors.AsType[*LostError](err)
	return is
}

// What a run changed, committed or made is there on the next machine, although it added nothing; what it
// ignored is not, unless it is included.
func TestTakeover(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git := Command(environ(), 0)
	one := worker(t, git, t.TempDir(), dir, base, "cache/**")
	claim(t, one, 1)
	write(t, one.Dir, map[string]string{"done.txt": "committed\n"})
	run1(t, one.Dir, "add", "done.txt")
	run1(t, one.Dir, "commit", "-q", "-m", "by the run")
	write(t, one.Dir, map[string]string{
		"a.txt": "changed\n", "added.txt": "added\n", "loose.txt": "x", "x.tmp": "x", "cache/deep/x.tmp": "cached\n",
		"new/dir/é.txt":    "new\n",
		".loops/runs/id/x": "x",
	})
	run1(t, one.Dir, "add", "added.txt")
	if err := os.Remove(filepath.Join(one.Dir, "dir/b.txt")); err != nil {
		t.Fatal(err)
	}
	status := run1(t, one.Dir, "status", "--porcelain")
	c := keep(t, one)
	if now := run1(t, one.Dir, "status", "--porcelain"); now != status {
		t.Errorf("the index changed:\n%s\nit was:\n%s", now, status)
	}
	if again := keep(t, one); again != c {
		t.Errorf("nothing changed, and a commit was made: %s", again)
	}
	if has := run1(t, dir, "rev-parse", RefOf(run)); has != c {
		t.Errorf("the remote has %s, want %s", has, c)
	}

	two := worker(t, git, t.TempDir(), dir, c, "cache/**")
	for name, want := range map[string]string{
		"a.txt": "changed\n", "dir/b.txt": "(absent)", "added.txt": "added\n", "done.txt": "committed\n",
		"cache/deep/x.tmp": "cached\n",
		"loose.txt":        "x", "new/dir/é.txt": "new\n", ".loops/runs/id/x": "(absent)", "x.tmp": "(absent)",
		".gitignore": "*.tmp\n",
	} {
		if got := read(t, filepath.Join(two.Dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if head, want := run1(t, two.Dir, "rev-parse", "HEAD"), run1(t, one.Dir, "rev-parse", "HEAD"); head != want {
		t.Errorf("HEAD is %s, want that of the run, %s", head, want)
	}
	if got, want := run1(t, two.Dir, "status", "--porcelain"),
		"M  a.txt\nA  added.txt\nD  dir/b.txt\n?? loose.txt\n?? new/"; got != want {
		t.Errorf("what was not added is in the index:\n%s\nwant:\n%s", got, want)
	}
	if branch := run1(t, two.Dir, "symbolic-ref", "--short", "HEAD"); branch != "loops/"+run {
		t.Errorf("the tree is on branch %s", branch)
	}
	claim(t, two, 2)
	if same := keep(t, two); same != c {
		t.Errorf("a takeover alone made another state of the files")
	}
}

// What does not travel is named: what is ignored, too large, or a repository of its own.
func TestLeft_34_1_7(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git := Command(environ(), 0)
	one := worker(t, git, t.TempDir(), dir, base, "part/in.tmp")
	claim(t, one, 1)
	keep(t, one)
	if some, all := one.Left(); all != 0 {
		t.Errorf("%d files are left: %s", all, some)
	}
	write(t, one.Dir, map[string]string{
		".gitignore": "*.tmp\nbuild/\n", "build/a": "x", "build/b": "x", "x.tmp": "x", "part/in.tmp": "x",
		"part/out.tmp": "x", "large": "",
		"inner/file": "x", ".loops/runs/id/x.tmp": "x",
	})
	run1(t, filepath.Join(one.Dir, "inner"), "init", "-q")
	run1(t, filepath.Join(one.Dir, "inner"), "commit", "-q", "--allow-empty", "-m", "x")
	if err := os.Truncate(filepath.Join(one.Dir, "large"), largest+1); err != nil {
		t.Fatal(err)
	}
	keep(t, one)
	want := "inner/ (a repository of its own)|large (larger than 100 MiB)|build/ (ignored)|part/out.tmp " +
		"(ignored)|x.tmp (ignored)"
	if some, all := one.Left(); all != 5 || strings.Join(some, "|") != want {
		t.Errorf("%d files are left: %s", all, strings.Join(some, "|"))
	}
}

// On a machine that has a tree of the run, a new file is gone that the run removed elsewhere; it is saved where
// it was never recorded.
func TestRemovedElsewhere_34_1_7(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git, machine := Command(environ(), 0), t.TempDir()
	one := worker(t, git, machine, dir, base)
	claim(t, one, 1)
	write(t, one.Dir, map[string]string{"new.txt": "new\n"})
	c := keep(t, one)
	write(t, one.Dir, map[string]string{"late.txt": "late\n"})
	one.Close()
	two := worker(t, git, t.TempDir(), dir, c)
	claim(t, two, 2)
	if err := os.Remove(filepath.Join(two.Dir, "new.txt")); err != nil {
		t.Fatal(err)
	}
	d := keep(t, two)
	three := worker(t, git, machine, dir, d)
	for _, name := range []string{"new.txt", "late.txt"} {
		if got := read(t, filepath.Join(three.Dir, name)); got != "(absent)" {
			t.Errorf("%s is there: %q", name, got)
		}
	}
	if got := run1(t, three.Dir, "show", three.Saved+":late.txt"); got != "late" {
		t.Errorf("what was not recorded is saved as %q", got)
	}
	if got := run1(t, three.Dir, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
}

// A worker that lost the run can push nothing over its successor, whenever it wakes.
func TestStalePush(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git := Command(environ(), 0)
	one := worker(t, git, t.TempDir(), dir, base)
	claim(t, one, 1)
	write(t, one.Dir, map[string]string{"a.txt": "one\n"})
	c := keep(t, one)
	late := worker(t, git, t.TempDir(), dir, c) // took the run, and was stopped before it claimed the files
	two := worker(t, git, t.TempDir(), dir, c)
	claim(t, two, 3)
	write(t, one.Dir, map[string]string{"a.txt": "stale\n"})
	if _, err := one.Keep(t.Context()); !isLost(err) {
		t.Errorf("a stale push: %v", err)
	}
	if err := late.Claim(t.Context(), 2, c); !isLost(err) {
		t.Errorf("a stale claim: %v", err)
	}
	write(t, two.Dir, map[string]string{"a.txt": "two\n"})
	d := keep(t, two)
	if has := run1(t, dir, "show", RefOf(run)+":a.txt"); has != "two" {
		t.Errorf("the remote has %q", has)
	}
	// Both commits stay, for either may be the recorded one.
	for _, commit := range []string{c, d} {
		run1(t, dir, "merge-base", "--is-ancestor", commit, RefOf(run))
	}
}

// Two workers that race for the files of a run do not both have them.
func TestRace(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git := Command(environ(), 0)
	one, two := worker(t, git, t.TempDir(), dir, base), worker(t, git, t.TempDir(), dir, base)
	var wg sync.WaitGroup
	for epoch, w := range []*RefTree{one, two} {
		wg.Go(func() {
			if err := w.Claim(t.Context(), int64(epoch)+1, ""); err != nil && (!isLost(err) || w == two) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	write(t, one.Dir, map[string]string{"a.txt": "one\n"})
	write(t, two.Dir, map[string]string{"a.txt": "two\n"})
	keep(t, two)
	if one.tip != "" {
		if _, err := one.Keep(t.Context()); !isLost(err) {
			t.Errorf("both had them: %v", err)
		}
	}
}

// Killed at any step, a worker leaves a state from which the next begins with the commit that was recorded.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"add", "commit-tree", "push", "pushed"} {
		t.Run(step, func(t *testing.T) {
			dir, base := remote(t)
			machine, dead := t.TempDir(), errors.New("killed")
			real := Command(environ(), 0)
			armed := false
			killed := func(ctx context.Context, at string, env []string, args ...string) (string, error) {
				if armed && command(args) == step {
					return "", dead
				}
				out, err := real(ctx, at, env, args...)
				if armed && step == "pushed" && command(args) == "push" {
					return "", dead
				}
				return out, err
			}
			one := worker(t, killed, machine, dir, base)
			claim(t, one, 1)
			write(t, one.Dir, map[string]string{"a.txt": "recorded\n"})
			recorded := keep(t, one)
			write(t, one.Dir, map[string]string{"a.txt": "half\n"})
			for _, lock := range []string{"index.lock", "loops-index.lock"} {
				write(t, one.admin(), map[string]string{lock: ""})
			}
			armed = true
			if _, err := one.Keep(t.Context()); !errors.Is(err, dead) {
				t.Fatalf("the case kills nothing: %v", err)
			}
			one.Close()
			for _, c := range []struct {
				on, machine string
				saved       bool
			}{{"another machine", t.TempDir(), false}, {"the same machine", machine, true}} {
				two := worker(t, real, c.machine, dir, recorded)
				if got := read(t, filepath.Join(two.Dir, "a.txt")); got != "recorded\n" {
					t.Errorf("on %s the run begins with %q", c.on, got)
				}
				if (two.Saved != "") != c.saved {
					t.Errorf("on %s what was not recorded is kept at %q", c.on, two.Saved)
				} else if c.saved {
					if got := run1(t, two.Dir, "show", two.Saved+":a.txt"); got != "half" {
						t.Errorf("kept is %q", got)
					}
				}
				claim(t, two, 2)
				write(t, two.Dir, map[string]string{"a.txt": "next on " + c.on + "\n"})
				keep(t, two)
				two.Close()
			}
		})
	}
}

// A remote that is away is waited for, and one that does not come back ends that with its name.
func TestAway(t *testing.T) {
	// Not parallel: the test changes Patience.
	dir, base := remote(t)
	w := worker(t, Command(environ(), 0), t.TempDir(), dir, base)
	claim(t, w, 1)
	write(t, w.Dir, map[string]string{"a.txt": "later\n"})
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	patience := Patience
	defer func() { Patience = patience }()
	Patience = 100 * time.Millisecond
	_, err := w.Keep(t.Context())
	if away, is := errors.AsType[*AwayError](err); !is || away.Remote != dir {
		t.Errorf("%v", err)
	}
	Patience = testenv.Patience
	back := time.AfterFunc(300*time.Millisecond, func() { _ = os.Rename(dir+".away", dir) })
	defer back.Stop()
	c := keep(t, w)
	if has := run1(t, dir, "rev-parse", RefOf(run)); has != c {
		t.Errorf("the remote has %s, want %s", has, c)
	}
}

// A remote that refuses the login of git is not waited for: neither where it refuses all, as a server does whose token
// expired, nor where it refuses pushes alone.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	dir, base := remote(t)
	hook := filepath.Join(dir, "hooks/pre-receive")
	for name, refuse := range map[string]func(w *RefTree){
		"all": func(w *RefTree) { w.m.Remote = server.URL + "/x.git" },
		"pushes": func(*RefTree) {
			write(t, dir, map[string]string{
				"hooks/pre-receive": "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 1\n",
			})
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w := worker(t, Command(append(environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"), 0), t.TempDir(), dir, base)
		w.m.Refuses = func(text string) bool {
			return strings.Contains(text, "could not read Username") ||
				strings.Contains(text, "Permission denied (publickey)")
		}
		claim(t, w, 1)
		write(t, w.Dir, map[string]string{"a.txt": "later " + name + "\n"})
		refuse(w)
		_, err := w.Keep(t.Context())
		if away, is := errors.AsType[*AwayError](err); !is || !away.Refused || away.Remote != w.m.Remote {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(hook); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		w.m.Remote = dir
		c := keep(t, w)
		if has := run1(t, dir, "rev-parse", RefOf(run)); has != c {
			t.Errorf("%s: the remote has %s, want %s", name, has, c)
		}
		w.Close()
		if err := w.m.Forget(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
}

// A push whose answer was lost is not taken for one that was refused.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	real := Command(environ(), 0)
	w := worker(t, func(ctx context.Context, at string, env []string, args ...string) (string, error) {
		out, err := real(ctx, at, env, args...)
		if err == nil && command(args) == "push" {
			return real(ctx, at, env, "rev-parse", "--verify", "-q", "absent")
		}
		return out, err
	}, t.TempDir(), dir, base)
	claim(t, w, 1)
	write(t, w.Dir, map[string]string{"a.txt": "there\n"})
	keep(t, w)
}

// A process that was stopped in its tracks holds its work tree; the next one of the same machine has another.
func TestHeldTree(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	machine := t.TempDir()
	one := worker(t, Command(environ(), 0), machine, dir, base)
	claim(t, one, 1)
	two := worker(t, Command(environ(), 0), machine, dir, base)
	if one.Dir == two.Dir {
		t.Fatal("two processes have one tree")
	}
	claim(t, two, 2)
	write(t, two.Dir, map[string]string{"a.txt": "two\n"})
	keep(t, two)
	if got := read(t, filepath.Join(one.Dir, "a.txt")); got != "a\n" {
		t.Errorf("the other tree has %q", got)
	}
}

// Forget leaves nothing of a run, and all of others.
func TestForget(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	m, err := OpenMirror(t.Context(), Command(environ(), 0), t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{run, run + "-2"} {
		w, err := m.Tree(t.Context(), id, base, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		claim(t, w, 1)
		w.Close()
	}
	for range 2 { // also when there is nothing
		if err := m.Forget(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	want := RefOf(run + "-2")
	if got := run1(t, dir, "for-each-ref", "--format=%(refname)", "refs/loops"); got != want {
		t.Errorf("the remote has %s, want %s", got, want)
	}
	if got := run1(t, m.Dir, "for-each-ref", "--format=%(refname)", "refs/loops", "refs/heads"); got !=
		"refs/heads/loops/"+run+"-2\n"+want {
		t.Errorf("the mirror has %s", got)
	}
	left, err := filepath.Glob(filepath.Join(m.Trees, "*"))
	if err != nil || len(left) != 2 || !strings.HasPrefix(filepath.Base(left[0]), run+"-2") {
		t.Errorf("the trees are %v", left)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir, base := remote(t)
	git := Command(environ(), 0)
	m, err := OpenMirror(t.Context(), git, t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	absent := strings.Repeat("1", len(base))
	if _, err := m.Tree(t.Context(), run, absent, nil, nil); err == nil ||
		err.Error() != "commit 111111111111 is not on "+dir+"; push it there" {
		t.Errorf("an unknown commit: %v", err)
	}
	if _, err := m.Tree(t.Context(), run, "--upload-pack=x", nil, nil); err == nil {
		t.Error("what is no commit is taken for one")
	}
	if _, err := OpenMirror(t.Context(), git, t.TempDir(), "--upload-pack=x"); err == nil {
		t.Error("an option is taken for an address")
	}
}

func TestRefName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		run: run, "a b%2Fc..d": "a%20b%252Fc%2E%2Ed", "x.lock": "x%2Elock",
		"é": "%C3%A9",
	} {
		got := refName(in)
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		run1(t, t.TempDir(), "check-ref-format", "refs/loops/"+got)
	}
}
