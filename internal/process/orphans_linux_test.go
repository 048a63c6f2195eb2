package process

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"loops/internal/testenv"
)

// TestReapLeavesTheAction: the exit code of an action that has ended but was not waited for is there after
// orphans were waited for. A command that ended while something else held its output, or while the rest of it
// was being ended, counted as exit code 0.
func TestReapLeavesTheAction(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended unix.Siginfo
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &ended, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	(&Orphans{}).Reap(cmd.Process.Pid)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

// While a daemon of an earlier action ran, all processes of the machine were looked at after each action. They
// are again only where there is another daemon, or one less.
func TestSettleBesideADaemon(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	daemon := func() (pid int) {
		t.Helper()
		cmd := exec.Command("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		b, err := cmd.Output()
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		return pid
	}
	var o Orphans
	mark := Identity{PID: -1}
	settled := func(looks bool, pids ...int) {
		t.Helper()
		o.settle()
		if o.before[mark] == looks {
			t.Errorf("it looked: %v, want %v", !looks, looks)
		}
		delete(o.before, mark)
		found := map[int]bool{}
		for id := range o.before {
			found[id.PID] = true
		}
		for _, pid := range pids {
			if !found[pid] {
				t.Errorf("daemon %d is not known: %v", pid, o.before)
			}
		}
		if len(found) != len(pids) {
			t.Errorf("known: %v, want %v", o.before, pids)
		}
		if o.before != nil {
			o.before[mark] = true
		}
	}
	inSession := func(pid int) {
		t.Helper()
		testenv.Wait(t, "the session of the daemon", func() bool {
			sid, err := unix.Getsid(pid)
			return err == nil && sid == pid
		})
	}
	settled(true)
	first := daemon()
	inSession(first)
	settled(true, first)
	settled(false, first)
	second := daemon()
	inSession(second)
	settled(true, first, second)
	settled(false, first, second)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var ended unix.Siginfo
	if err := unix.Waitid(unix.P_PID, first, &ended, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	settled(true, second)
	settled(false, second)
}
