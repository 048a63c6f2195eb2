package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An interference is what happens to the program at one of its system calls that change files. Calls are counted over all
// threads, so that each can be met; strace counts them in each thread. Actions are left alone.
type interference struct {
	calls map[uint64]bool
	below string        // a folder of the project; other files are left alone. "" = none are
	opens bool          // opening a file that is there counts, not making one
	errno syscall.Errno // what the call fails with; 0 = the program is killed before it
	rest  bool          // so do all after it
}

// The calls that change files, on this processor.
var (
	roomCalls = map[uint64]bool{ // need room on the disk
		unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_WRITEV: true, unix.SYS_PWRITEV: true, unix.SYS_COPY_FILE_RANGE: true,
		unix.SYS_FALLOCATE: true, unix.SYS_OPEN: true, unix.SYS_OPENAT: true, unix.SYS_MKDIR: true, unix.SYS_MKDIRAT: true,
		unix.SYS_RENAME: true, unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true, unix.SYS_LINK: true, unix.SYS_LINKAT: true,
	}
	diskCalls = map[uint64]bool{ // find out that the disk is broken
		unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_FTRUNCATE: true,
	}
	changeCalls = map[uint64]bool{
		unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_TRUNCATE: true, unix.SYS_FTRUNCATE: true,
		unix.SYS_UNLINK: true, unix.SYS_UNLINKAT: true, unix.SYS_RMDIR: true,
	}
)

func init() {
	for c := range roomCalls {
		changeCalls[c] = true
	}
}

// callInfo is struct ptrace_syscall_info.
type callInfo struct {
	op   uint8
	_    [3]byte
	_    uint32
	_, _ uint64
	nr   uint64 // of a call that begins
	args [6]uint64
	_    [2]uint64
}

// interfere runs the program in folder d with its n-th such call interfered with, and returns how it ended and what the
// call was: "" if it made fewer, of which it returns the count. 0 is none.
func (d crashDir) interfere(t *testing.T, in interference, n int, args ...string) (code float64, hit string, calls int) {
	t.Helper()
	bin := binary(t)
	stderr := createFile(t, filepath.Join(d.cwd, "err"))
	defer stderr.Close()
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()

	runtime.LockOSThread() // only the thread that began may go on
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(bin, append([]string{bin}, args...), &syscall.ProcAttr{
		Dir: d.cwd, Env: d.env(bin), Files: []uintptr{null.Fd(), stderr.Fd(), stderr.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	must(t, err)
	root, err := filepath.EvalSymlinks(d.cwd)
	must(t, err)
	tr := tracer{pid: pid, root: root, in: in, n: n, refused: map[int]bool{}}
	late := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // a run takes a second
	defer late.Stop()
	ws, err := tr.run()
	if err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Fatalf("interfere with %v: %v", args, err)
	}
	if ws.Signaled() {
		return -float64(ws.Signal()), tr.hit, tr.seen
	}
	return float64(ws.ExitStatus()), tr.hit, tr.seen
}

// A tracer follows the threads of a program, but not its children.
type tracer struct {
	pid     int
	root    string
	in      interference
	n       int
	seen    int
	refused map[int]bool // threads that are in a call that is to fail
	hit     string
}

func (tr *tracer) run() (syscall.WaitStatus, error) {
	for first := true; ; first = false {
		var ws syscall.WaitStatus
		// The program has a group of its own, so this takes no child of another test.
		tid, err := syscall.Wait4(-tr.pid, &ws, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return ws, err
		case (ws.Exited() || ws.Signaled()) && tid == tr.pid:
			return ws, nil
		case !ws.Stopped():
			continue
		}
		if first {
			const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
			if err := syscall.PtraceSetOptions(tid, options); err != nil {
				return ws, err
			}
		}
		pass := 0
		switch sig := ws.StopSignal(); sig {
		case syscall.SIGTRAP | 0x80:
			if err := tr.call(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return ws, err
			}
		case syscall.SIGTRAP, syscall.SIGSTOP: // the program was started, or a thread was
		default:
			pass = int(sig)
		}
		if err := syscall.PtraceSyscall(tid, pass); err != nil && !errors.Is(err, syscall.ESRCH) { // it was killed
			return ws, err
		}
	}
}

// call is told that a thread begins or ends a system call.
func (tr *tracer) call(tid int) error {
	if tr.refused[tid] {
		delete(tr.refused, tid)
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		regs.Rax = uint64(-int64(tr.in.errno))
		return syscall.PtraceSetRegs(tid, &regs)
	}
	var info callInfo
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return e
	}
	if info.op != unix.PTRACE_SYSCALL_INFO_ENTRY || !tr.in.calls[info.nr] {
		return nil
	}
	where, ok := tr.file(info)
	if !ok || !strings.Contains(strings.TrimPrefix(where, tr.root), tr.in.below) {
		return nil
	}
	if tr.seen++; tr.seen != tr.n && (!tr.in.rest || tr.n == 0 || tr.seen < tr.n) {
		return nil
	}
	if tr.hit == "" {
		tr.hit = fmt.Sprintf("call %d of %s", info.nr, where)
	}
	if tr.in.errno == 0 {
		return syscall.Kill(tr.pid, syscall.SIGKILL)
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0) // no call at all
	tr.refused[tid] = true
	return syscall.PtraceSetRegs(tid, &regs)
}

// file says which file of the project a call reads or changes, if it does.
func (tr *tracer) file(info callInfo) (string, bool) {
	folder, name := -1, 0 // which of its words say what
	switch info.nr {
	case unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_GETDENTS64, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE:
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.pid, int32(info.args[0])))
		// The first three are what it says to people.
		return path, err == nil && info.args[0] > 2 && strings.HasPrefix(path, tr.root)
	case unix.SYS_COPY_FILE_RANGE:
		return "a file", true
	case unix.SYS_OPENAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT:
		folder, name = 0, 1
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		folder, name = 2, 3
	case unix.SYS_RENAME, unix.SYS_LINK:
		name = 1
	}
	path := tr.text(info.args[name])
	if !filepath.IsAbs(path) {
		at := "cwd"
		if folder >= 0 && int32(info.args[folder]) != unix.AT_FDCWD {
			at = fmt.Sprintf("fd/%d", int32(info.args[folder]))
		}
		base, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", tr.pid, at))
		if err != nil {
			return "", false
		}
		path = filepath.Join(base, path)
	}
	changes := true
	if info.nr == unix.SYS_OPEN || info.nr == unix.SYS_OPENAT { // no room is needed for what is there
		_, err := os.Lstat(path)
		changes = info.args[name+1]&unix.O_CREAT != 0 && err != nil
		if tr.in.opens {
			changes = err == nil
		}
	}
	return path, changes && strings.HasPrefix(path, tr.root)
}

// text reads a path in the memory of the program.
func (tr *tracer) text(at uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tr.pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, syscall.PathMax)
	n, _ := f.ReadAt(b, int64(at)) // it may end at the end of a page
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(text)
}
