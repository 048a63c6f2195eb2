package testenv

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// Namespaces skips the test where this user may make no namespaces with unshare.
func Namespaces(t testing.TB) {
	t.Helper()
	if out, err := exec.Command(Command(t, "unshare"), "-pfm", "--mount-proc", "true").CombinedOutput(); err != nil {
		Skip(t, "leave to make namespaces, which root has: "+string(out))
	}
}

// Tracing skips the test where this process may not trace another with ptrace, as in some containers.
func Tracing(t testing.TB) {
	t.Helper()
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		Skip(t, "leave to trace a process: "+err.Error())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, or stopped as it began
}
