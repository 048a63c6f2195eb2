package main_test

import (
	"bytes"
	"database/sql"
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
	_ "loops/persistence/sqlstore" // registers the driver
)

const slowLoop = `name: slow
description: an action that says nothing and does not end
initial: work
states:
  work:
    action: echo $$ >> pids; sleep 600
    next: done
  done:
    terminal: true
`

// shortLease is a store with a lease that is soon over.
const shortLease = "sqlite:runs.db?lease=1s"

// A slowRun is a project with a run of slow.
type slowRun struct {
	t          *testing.T
	dir, store string
}

func newSlowRun(t *testing.T, store string) slowRun {
	t.Helper()
	d := slowRun{t, t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(d.dir, ".loops", "slow.yaml"), []byte(slowLoop), 0o644))
	return d
}

func (d slowRun) start(args ...string) *testenv.Process {
	d.t.Helper()
	return d.startWith(exec.Command(binary(d.t), args...))
}

func (d slowRun) startWith(cmd *exec.Cmd) *testenv.Process {
	d.t.Helper()
	cmd.Dir, cmd.Env = d.dir, append(cleanEnv(binary(d.t), d.dir), "LOOPS_STORE="+d.store)
	return testenv.StartProcess(d.t, cmd)
}

// pids waits until n actions have begun, and returns their processes; fewer if the program ended before.
func (d slowRun) pids(n int, ended func() bool) (pids []int) {
	d.t.Helper()
	var lines []string
	testenv.Wait(d.t, fmt.Sprint(n, " actions to begin"), func() bool {
		over := ended()
		b, _ := os.ReadFile(filepath.Join(d.dir, "pids"))
		lines = strings.Fields(string(b[:bytes.LastIndexByte(b, '\n')+1]))
		return len(lines) >= n || over
	})
	for _, l := range lines {
		pid, err := strconv.Atoi(l)
		must(d.t, err)
		pids = append(pids, pid)
	}
	return pids
}

func never() bool { return false }

// gone waits until a process has ended.
func (d slowRun) gone(pid int) {
	d.t.Helper()
	testenv.Wait(d.t, fmt.Sprint("the end of process ", pid), func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

// TestPausedRunner: a runner is stopped for longer than its lease, and another one takes the run over.
func TestPausedRunner(t *testing.T) {
	t.Parallel()
	d := newSlowRun(t, shortLease)
	paused := d.start("run", "slow", "--quiet")
	first := d.pids(1, never)[0]
	next := d.start("resume", "slow", "--quiet")
	if code := next.Exit(); code != 9 ||
		!strings.Contains(next.Said(), fmt.Sprintf("is owned by a live process (pid %d)", paused.Pid())) {
		t.Fatalf("resume of a live run exits with %d: %s", code, next.Said())
	}
	paused.Signal(syscall.SIGSTOP)
	testenv.Wait(t, "the lease to run out", func() bool {
		next = d.start("resume", "slow", "--quiet")
		if len(d.pids(2, next.Ended)) == 2 {
			return true
		}
		if next.Exit() != 9 {
			t.Fatalf("resume exits with %d: %s", next.Exit(), next.Said())
		}
		if strings.Contains(next.Said(), "does not let go of this lock") { // it was stopped in the middle of a write
			must(t, testenv.LetRun(paused.Pid()))
		}
		return false
	})
	if !strings.Contains(next.Said(), "that the interrupted action of state work had left running.") {
		t.Errorf("resume says %q", next.Said()) // or two of them ran
	}
	paused.Signal(syscall.SIGCONT)
	want := fmt.Sprintf("another process (pid %d on ", next.Pid())
	if code := paused.Exit(); code != 9 || !strings.Contains(paused.Said(), want) ||
		!strings.Contains(paused.Said(),
			"; this one stopped, and recorded nothing after that\nSee how it runs: loops status slow\n") {
		t.Errorf("the paused runner exits with %d and says %q", code, paused.Said())
	}
	d.gone(first)
	second := d.pids(2, never)[1]
	if errors.Is(syscall.Kill(second, 0), syscall.ESRCH) {
		t.Error("the action of the new owner was ended")
	}
	next.Signal(syscall.SIGTERM)
	d.gone(second)
	if code := next.Exit(); code != 143 {
		t.Errorf("the new owner exits with %d: %s", code, next.Said())
	}
}

// TestRunTakenAway: a run is taken over from another machine while its action runs and says nothing. The action ends.
func TestRunTakenAway(t *testing.T) {
	t.Parallel()
	d := newSlowRun(t, shortLease)
	runner := d.start("run", "slow", "--quiet")
	action := d.pids(1, never)[0]
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "runs.db")+"?_pragma=busy_timeout(10000)")
	must(t, err)
	defer db.Close()
	_, err = db.Exec(
		`BEGIN IMMEDIATE; UPDATE runs SET epoch = epoch + 1; UPDATE leases SET epoch = epoch + 1, owner = '{"host": "box", "pid": 77}'; COMMIT`)
	must(t, err)
	d.gone(action)
	if code := runner.Exit(); code != 9 ||
		!strings.HasPrefix(runner.Said(), "The run was taken over, or its lease ran out and could not be renewed: "+
			"killing the action.\n") ||
		!strings.Contains(runner.Said(), "loops: another process (pid 77 on box) took over run slow-") {
		t.Errorf("the runner exits with %d and says %q", code, runner.Said())
	}
}
