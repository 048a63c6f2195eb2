package testenv

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// Namespaces skips the test where this user may make no namespaces with unshare.
func Namespaces(t testing.TB) {
	t.Helper()
	Command(t, "unshare")
	if out, err := unshare(); err != nil {
		Skip(t, "leave to make namespaces, which root has: "+out)
	}
}

// ControlGroup skips the test where err says that no control group can be made. It fails the test where the machine
// should have one: for root, where there is a hierarchy of the second version that is not read-only, as it is
// in containers.
func ControlGroup(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getuid() == 0 && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EROFS):
		t.Fatalf("no control group can be made: %v", err)
	default:
		Skip(t, "leave to make control groups: "+err.Error())
	}
}

// CanNamespaces reports whether this user may make namespaces with unshare.
func CanNamespaces() bool {
	_, err := unshare()
	return err == nil
}

func unshare() (out string, err error) {
	b, err := exec.Command("unshare", "-pfm", "--mount-proc", "true").CombinedOutput()
	return string(b), err
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
