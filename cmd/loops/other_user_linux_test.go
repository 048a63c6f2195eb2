package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// otherUser is a user that no machine has.
const otherUser = 54321

// A userProject is a project of another user, in which root works too.
type userProject struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

func newUserProject(t *testing.T, store string) *userProject {
	t.Helper()
	testenv.Root(t, "only root works in the project of another user")
	top := t.TempDir()
	testenv.Must(t, os.Chmod(filepath.Dir(top), 0o755))
	testenv.Must(t, os.Chmod(top, 0o755))
	p := &userProject{t: t, dir: filepath.Join(top, "project"), program: filepath.Join(top, "loops")}
	// By a process of its own: a file that this one has open to be written cannot be started where it forks meanwhile.
	testenv.Must(t, exec.Command("install", "-m", "755", testenv.Binary(t), p.program).Run())
	testenv.Must(t, os.MkdirAll(filepath.Join(p.dir, ".loops"), 0o755))
	p.env = append(testenv.CleanEnv(top, p.dir), "PATH="+os.Getenv("PATH"))
	if store != "" {
		p.env = append(p.env, "LOOPS_STORE="+store)
	}
	testenv.WriteText(t, filepath.Join(p.dir, ".loops", "asks.yaml"), `name: asks
description: Waits for a signal.
initial: ask
states:
  ask: {wait: {event: go}, timeout: 2m, on_yes: done, on_error: failed, on_timeout: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`)
	testenv.WriteText(t, filepath.Join(p.dir, ".loops", "long.yaml"), `name: long
description: Prints much.
initial: print
states:
  print: {action: "head -c 200000 /dev/zero | tr '\\0' x", capture: all, next: done}
  done: {terminal: true}
`)
	testenv.Must(t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, otherUser, otherUser)
	}))
	return p
}

// command returns a command of a user.
func (p *userProject) command(uid uint32, args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// root returns what a command of root prints, and whether it succeeded.
func (p *userProject) root(args ...string) (string, bool) {
	out, err := p.command(0, args...).CombinedOutput()
	return string(out), err == nil
}

// waiting starts the run of the user and waits until it asks.
func (p *userProject) waiting() *testenv.Process {
	p.t.Helper()
	run := testenv.StartProcess(p.t, p.command(otherUser, "run", "asks"))
	testenv.Wait(p.t, "the run waits", func() bool { return strings.Contains(run.Said(), "event go") || run.Ended() })
	return run
}

// foreign returns the files of the records of the project that are not the user's.
func (p *userProject) foreign() (found []string) {
	p.t.Helper()
	n := 0
	testenv.Must(p.t,
		filepath.WalkDir(filepath.Join(p.dir, ".loops"), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			n++
			st, err := e.Info()
			if err == nil && st.Sys().(*syscall.Stat_t).Uid != otherUser {
				found = append(found, path)
			}
			return err
		}))
	if n < 5 {
		p.t.Errorf("only %d files were looked at", n)
	}
	return found
}

var userStores = []struct{ name, store string }{{"files", ""}, {"SQLite", "sqlite:.loops/runs.db"}}

// What root sends to the run of a user was lost: the file of its commands was root's, and the run could not read it.
func TestRootSendsToUser(t *testing.T) {
	for _, c := range userStores {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newUserProject(t, c.store)
			run := p.waiting()
			for _, args := range [][]string{{"pause", "asks"}, {"unpause", "asks"}, {"signal", "asks", "go"}} {
				if out, ok := p.root(args...); !ok {
					t.Fatalf("%v: %s", args, out)
				}
			}
			if code := run.Exit(); code != 0 {
				t.Errorf("the run ended with %d: %s", code, run.Said())
			}
			if found := p.foreign(); found != nil {
				t.Errorf("not the user's: %v", found)
			}
		})
	}
}

// What root carries in the project of a user is the user's, and the user carries on with it.
func TestRootRunsForUser(t *testing.T) {
	for _, c := range userStores {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newUserProject(t, c.store)
			if out, ok := p.root("run", "long"); ok || !strings.Contains(out, "loop long is not yours") {
				t.Fatalf("root runs what a user wrote without being asked: %s", out)
			}
			for _, args := range [][]string{{"trust", "long"}, {"run", "long"}} {
				if out, ok := p.root(args...); !ok {
					t.Fatal(out)
				}
			}
			if out, ok := p.root("run", "-b", "long"); !ok {
				t.Fatal(out)
			}
			testenv.Wait(t, "the run in the background ends", func() bool {
				out, _ := p.root("list", "--running")
				return !strings.Contains(out, "long-")
			})
			if found := p.foreign(); found != nil {
				t.Errorf("not the user's: %v", found)
			}
			for _, args := range [][]string{{"run", "long"}, {"runs"}, {"sweep"}} {
				if out, err := p.command(otherUser, args...).CombinedOutput(); err != nil {
					t.Errorf("%v: %v: %s", args, err, out)
				}
			}
		})
	}
}

// A run that cannot read its commands says so, a sender is refused, and the run is archived when it has ended.
func TestRunCannotReadCommands(t *testing.T) {
	t.Parallel()
	p := newUserProject(t, "")
	testenv.WriteText(t, filepath.Join(p.dir, ".loops", "asks.yaml"), `name: asks
description: Works until there is a file.
initial: ask
states:
  ask: {action: "echo event go; until [ -e end ]; do sleep 0.1; done; exit 1", on_yes: done, on_no: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`)
	run := p.waiting()
	locks, err := filepath.Glob(filepath.Join(p.dir, ".loops", ".running", "asks-*.lock"))
	testenv.Must(t, err)
	if len(locks) != 1 {
		t.Fatal(locks)
	}
	commands := strings.TrimSuffix(locks[0], ".lock") + ".commands.jsonl"
	testenv.Must(t, os.WriteFile(commands, []byte("\n"), 0o600)) // as an earlier version left it
	for _, args := range [][]string{{"status", "asks"}, {"list", "--running"}} {
		out, err := p.command(otherUser, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "commands that are sent to the run are not read") {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
	if out, ok := p.root("signal", "asks", "go"); ok || !strings.Contains(out, "chown 54321 ") {
		t.Errorf("signal: %s", out)
	}
	testenv.Wait(t, "the run says so", func() bool {
		return strings.Contains(run.Said(), "cannot read what it is sent")
	})
	testenv.WriteText(t, filepath.Join(p.dir, "end"), "")
	if code := run.Exit(); code != 1 {
		t.Errorf("the run ended with %d: %s", code, run.Said())
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".loops", ".running", "asks-*")); left != nil {
		t.Errorf("not archived: %v: %s", left, run.Said())
	}
}

// The actions of a user who is not root are limited by mounts as well: what is protected cannot be changed, and strict
// is enforced. They end with a run that is killed, and have its descriptors, folder and exit codes.
func TestUserInASandbox(t *testing.T) {
	t.Parallel()
	testenv.Namespaces(t)
	p := newUserProject(t, "")
	p.env = append(p.env, "HOME="+filepath.Dir(p.dir)) // the sandbox lets none of it be changed
	loop := filepath.Join(p.dir, ".loops", "boxed.yaml")
	testenv.WriteText(t, loop, `name: boxed
description: Tries what it may not.
initial: try
sandbox: strict
states:
  try: {action: "pwd; echo mine > file; echo bad > .loops/boxed.yaml; exit 7", capture: said, next: stay}
  stay: {action: "echo $$ > pid; exec sleep 600", on_yes: done, on_no: done, on_error: done}
  done: {terminal: true}
`)
	testenv.Must(t, os.Chown(loop, otherUser, otherUser))
	run := testenv.StartProcess(t, p.command(otherUser, "run", "boxed"))
	pid := ""
	testenv.Wait(t, "the second action runs, and the run says what the first one came to", func() bool {
		b, _ := os.ReadFile(filepath.Join(p.dir, "pid"))
		pid = strings.TrimSpace(string(b))
		return strings.HasSuffix(string(b), "\n") && strings.Contains(run.Said(), "-> stay") || run.Ended()
	})
	said := run.Said()
	for _, want := range []string{p.dir + "\n", "boxed.yaml: Read-only file system", "exit: 7"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "checked afterwards") || testenv.ReadText(t, filepath.Join(p.dir, "file")) != "mine\n" {
		t.Errorf("it says:\n%s", said)
	}
	run.Signal(syscall.SIGKILL)
	testenv.Wait(t, "the action ends with its run", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return pid != "" && os.IsNotExist(err)
	})
}
