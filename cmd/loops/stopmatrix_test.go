package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"

	"github.com/creack/pty"
)

// treeLoop is a loop whose action starts a process tree: a child, a grandchild whose parent has gone, one with
// a session of its own, and one that ignores TERM. Each writes its pid to the file pids.
const treeLoop = `name: %s
description: an action with a tree of processes
initial: work
scope: ["%[1]s"]
states:
  work:
    action: |
      sleep 600 & echo $! >> pids
      ( sleep 600 & echo $! >> pids )
      setsid sh -c 'echo $$ >> pids; exec sleep 600' &
      sh -c 'trap "" TERM HUP INT; echo $$ >> pids; for i in $(seq 6000); do sleep 0.1; done' &
      echo $$ >> pids
      wait
    next: done
  done: {terminal: true}
`

// newTree makes a project with the tree loop under some names.
func newTree(t *testing.T, store string, names ...string) slowRun {
	t.Helper()
	d := slowRun{t, t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.dir, ".loops"), 0o755))
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(d.dir, ".loops", name+".yaml"), fmt.Appendf(nil, treeLoop, name), 0o644))
	}
	return d
}

// ended waits until none of some processes is left.
func (d slowRun) ended(pids []int) {
	d.t.Helper()
	for _, pid := range pids {
		if !testenv.Within(testenv.Patience, func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(b), ") Z ")
		}) {
			d.t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// archived reports whether the newest run of a loop is recorded with a status, can be resumed and is out of the way.
func (d slowRun) archived(loop, as string) {
	d.t.Helper()
	status := d.output("status", loop, "--json")
	if !strings.Contains(status, `"status": "`+as+`"`) || !strings.Contains(status, `"resumable": true`) {
		d.t.Errorf("%s is recorded as %s", loop, status)
	}
	if said := d.output("sweep"); said != "Nothing to tidy up.\n" {
		d.t.Errorf("it left something to tidy up: %s", said)
	}
}

// TestSignalMatrix: however a run is stopped, it can be resumed, is archived, and none of its processes is left.
// `make torture` stops in each way on each store; otherwise SQLite sees the ways that begin with another command.
func TestSignalMatrix(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		for name, c := range map[string]struct {
			code int
			stop func(d slowRun, run *testenv.Process)
		}{
			"SIGINT":  {130, func(_ slowRun, run *testenv.Process) { run.Signal(syscall.SIGINT) }},
			"SIGTERM": {143, func(_ slowRun, run *testenv.Process) { run.Signal(syscall.SIGTERM) }},
			"SIGHUP":  {129, func(_ slowRun, run *testenv.Process) { run.Signal(syscall.SIGHUP) }},
			"SIGQUIT": {131, func(_ slowRun, run *testenv.Process) { run.Signal(syscall.SIGQUIT) }},
			"SIGQUIT after SIGINT": {130, func(d slowRun, run *testenv.Process) {
				run.Signal(syscall.SIGINT)
				d.says(run, "Once more kills the action at once.")
				run.Signal(syscall.SIGQUIT)
			}},
			"twice": {143, func(d slowRun, run *testenv.Process) {
				run.Signal(syscall.SIGTERM)
				d.says(run, "Once more kills the action at once.")
				run.Signal(syscall.SIGTERM)
			}},
			"stop":     {143, func(d slowRun, _ *testenv.Process) { d.output("stop", "tree") }},
			"stop all": {143, func(d slowRun, _ *testenv.Process) { d.output("stop", "--all") }},
			"stop stopped": {143, func(d slowRun, run *testenv.Process) {
				run.Signal(syscall.SIGSTOP)
				d.output("stop", "tree")
			}},
		} {
			if store != "dir" && !strings.HasPrefix(name, "stop") && !*torture {
				continue
			}
			t.Run(storeName(store)+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := newTree(t, store, "tree")
				run := d.start("run", "tree")
				pids := d.pids(5, run.Ended)
				if len(pids) != 5 {
					t.Fatalf("the run ended: %s", run.Said())
				}
				c.stop(d, run)
				if code := run.Exit(); code != c.code {
					t.Errorf("exit code %d, want %d: %s", code, c.code, run.Said())
				}
				if said := run.Said(); strings.Contains(said, "goroutine ") {
					t.Errorf("it says: %s", said)
				}
				d.ended(pids)
				as := "interrupted"
				if strings.HasPrefix(name, "stop") {
					as = "user_stopped"
				}
				d.archived("tree", as)
			})
		}
	}
}

// says waits until a program has said something.
func (d slowRun) says(s *testenv.Process, text string) {
	d.t.Helper()
	if !testenv.Within(testenv.Patience, func() bool { return strings.Contains(s.Said(), text) }) {
		d.t.Fatalf("%q is not in %q", text, s.Said())
	}
}

// TestStopKills: a run that hangs, because nothing reads what it prints, is killed after the grace, with its action.
func TestStopKills(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := newTree(t, store, "tree")
			loop := strings.Replace(fmt.Sprintf(treeLoop, "tree"), "      wait\n", "      seq 100000\n      wait\n", 1)
			must(t, os.WriteFile(filepath.Join(d.dir, ".loops", "tree.yaml"), []byte(loop), 0o644))
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			bin := binary(t)
			cmd := exec.Command(bin, "run", "tree", "-v")
			cmd.Dir, cmd.Env, cmd.Stdout = d.dir, append(cleanEnv(bin, d.dir), "LOOPS_STORE="+store), w
			must(t, cmd.Start())
			defer w.Close()
			done := make(chan struct{})
			go func() {
				_ = cmd.Wait() // it is killed
				close(done)
			}()
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				<-done
			})
			pids := d.pids(5, never)
			testenv.Wait(t, "a full pipe", func() bool { return isFull(t, w) })
			said := d.output("stop", "tree", "--grace", "500ms")
			if want := fmt.Sprintf("(pid %d), which did not stop within 500ms, in state work. Resume with: "+
				"loops resume tree-", cmd.Process.Pid); !strings.HasPrefix(said, "Killed tree-") ||
				!strings.Contains(said, want) {
				t.Errorf("stop says %q", said)
			}
			<-done
			d.ended(pids)
			d.archived("tree", "interrupted")
		})
	}
}

// TestStopSparesOthers: stop x ends x, and neither x-y, nor a process of the caller's group, nor one that
// merely has the pid of a run that died (see also TestReusedPid).
func TestStopSparesOthers(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := newTree(t, store, "x", "x-y")
			x := d.start("run", "x", "--quiet")
			pids := d.pids(5, x.Ended)
			y := d.start("run", "x-y", "--quiet")
			both := d.pids(10, y.Ended)
			// The shell that calls, and what else it runs.
			shell := exec.Command("sh", "-c", "sleep 600 & echo $!; loops stop x >stopped 2>&1; echo rc=$?; wait")
			shell.Dir, shell.SysProcAttr = d.dir, &syscall.SysProcAttr{Setpgid: true}
			bin := binary(t)
			shell.Env = append(cleanEnv(bin, d.dir), "LOOPS_STORE="+store, "PATH="+filepath.Dir(bin)+":"+
				os.Getenv("PATH"))
			out, err := os.Create(filepath.Join(d.dir, "shell"))
			must(t, err)
			defer out.Close()
			shell.Stdout = out
			must(t, shell.Start())
			t.Cleanup(func() {
				_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
				_ = shell.Wait() // it is killed
			})
			var lines []string
			if !testenv.Within(testenv.Patience, func() bool {
				lines = strings.Fields(readText(t, out.Name()))
				return len(lines) == 2
			}) || lines[1] != "rc=0" {
				t.Fatalf("the shell says %q, and stop %q", lines, readText(t, filepath.Join(d.dir, "stopped")))
			}
			if code := x.Exit(); code != 143 {
				t.Errorf("x exits with %d: %s", code, x.Said())
			}
			d.ended(pids)
			sleeper, err := strconv.Atoi(lines[0])
			must(t, err)
			for _, pid := range append(both[5:], sleeper, shell.Process.Pid) {
				if err := syscall.Kill(pid, 0); err != nil {
					t.Errorf("process %d, of others, is gone: %v", pid, err)
				}
			}
			if y.Ended() {
				t.Errorf("x-y has ended: %s", y.Said())
			}
			if said := d.output("stop", "--all"); !strings.HasPrefix(said, "Stopped x-y-") {
				t.Errorf("stop --all says %q", said)
			}
			<-y.Done()
			d.ended(both)
			d.archived("x-y", "user_stopped")
		})
	}
}

// TestBackgroundOutlivesTerminal: the terminal that a run in the background was started from goes away, and with it
// everything in its session but the run.
func TestBackgroundOutlivesTerminal(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := newTree(t, store, "tree")
			bin := binary(t)
			shell := exec.Command("sh", "-c", "loops run -b tree && exec sleep 600")
			shell.Dir = d.dir
			shell.Env = append(cleanEnv(bin, d.dir), "LOOPS_STORE="+store, "PATH="+filepath.Dir(bin)+":"+
				os.Getenv("PATH"))
			terminal, err := pty.Start(shell)
			must(t, err)
			pids := d.pids(5, never)
			var text []byte
			buf := make([]byte, 4096)
			for range 100 {
				n, err := terminal.Read(buf)
				if text = append(text, buf[:n]...); err != nil || strings.Contains(string(text), "stop it:") {
					break
				}
			}
			if !strings.Contains(string(text), "is running in the background") {
				t.Fatalf("the terminal shows %q", text)
			}
			must(t, terminal.Close()) // the kernel sends SIGHUP to the session
			var exit *exec.ExitError
			if err := shell.Wait(); !errors.As(err, &exit) ||
				exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGHUP {
				t.Fatalf("the shell ends with %v", err)
			}
			if status := d.output("status", "tree"); !strings.Contains(status, "running") {
				t.Errorf("the run: %s", status)
			}
			for _, pid := range pids {
				if err := syscall.Kill(pid, 0); err != nil {
					t.Errorf("process %d is gone: %v", pid, err)
				}
			}
			d.output("stop", "tree")
			d.ended(pids)
			d.archived("tree", "user_stopped")
		})
	}
}
