package proc

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReapLeavesTheAction: the exit code of an action that has ended but was not waited for is there after orphans were
// waited for. A command that ended while something else held its output, or while the rest of it was being ended, counted
// as exit code 0.
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
