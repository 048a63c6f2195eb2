package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"loops/internal/testenv"
)

// An interference is what happens to the program at one of its system calls that change files, or notify another
// process. Calls are counted over all threads, so that each can be met; strace counts them in each thread. Actions are
// left alone.
type interference struct {
	calls map[uint64]bool
	below string        // a folder of the project; other files are left alone. "" = none are
	opens bool          // opening a file that is there counts, not making one
	errno syscall.Errno // what the call fails with; 0 = the program is killed before it
	rest  bool          // so do all after it

	detached bool // it happens to the process of this program that the program starts, and waits for or not
	sockets  bool // what is written to a server counts, too
}

// The calls that change files, on this processor.
var (
	roomCalls = map[uint64]bool{ // need room on the disk
		unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_WRITEV: true, unix.SYS_PWRITEV: true,
		unix.SYS_COPY_FILE_RANGE: true,
		unix.SYS_FALLOCATE:       true, unix.SYS_OPEN: true, unix.SYS_OPENAT: true, unix.SYS_MKDIR: true,
		unix.SYS_MKDIRAT: true,
		unix.SYS_RENAME:  true, unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true, unix.SYS_LINK: true,
		unix.SYS_LINKAT: true,
	}
	diskCalls = map[uint64]bool{ // find out that the disk is broken
		unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true,
		unix.SYS_FTRUNCATE: true,
	}
	changeCalls = map[uint64]bool{
		unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_TRUNCATE: true, unix.SYS_FTRUNCATE: true,
		unix.SYS_UNLINK: true, unix.SYS_UNLINKAT: true, unix.SYS_RMDIR: true,
		unix.SYS_KILL: true, unix.SYS_PIDFD_SEND_SIGNAL: true,
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
// call was: "" if it made fewer, of which it returns the count. With n = 0 it interferes with no call.
func (d crashDir) interfere(t *testing.T, in interference, n int, args ...string) (code float64, hit string,
	calls int,
) {
	t.Helper()
	code, met := d.traced(t, in, n, args...)
	if n > 0 && n <= len(met) {
		hit = met[n-1]
	}
	return code, hit, len(met)
}

// traced is interfere, and returns what all such calls were.
func (d crashDir) traced(t *testing.T, in interference, n int, args ...string) (code float64, met []string) {
	t.Helper()
	bin := binary(t)
	stderr := createFile(t, filepath.Join(d.cwd, "err"))
	defer stderr.Close()
	stdin, err := d.stdin()
	must(t, err)
	defer stdin.Close()

	runtime.LockOSThread() // only the thread that began may continue
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(bin, append([]string{bin}, args...), &syscall.ProcAttr{
		Dir: d.cwd, Env: d.env(bin), Files: []uintptr{stdin.Fd(), stderr.Fd(), stderr.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	must(t, err)
	root, err := filepath.EvalSymlinks(d.cwd)
	must(t, err)
	tr := tracer{
		pid: pid, bin: bin, root: root, in: in, n: n, groups: []int{pid}, threads: map[int]bool{},
		refused: map[int]bool{},
	}
	if !in.detached {
		tr.target = pid
	}
	var late atomic.Bool
	// a run takes a second
	timer := time.AfterFunc(testenv.Patience, func() { late.Store(true); _ = syscall.Kill(pid, syscall.SIGKILL) })
	defer timer.Stop()
	ws, err := tr.run(&late)
	if err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Fatalf("interfere with %v: %v", args, err)
	}
	if ws.Signaled() {
		return -float64(ws.Signal()), tr.met
	}
	return float64(ws.ExitStatus()), tr.met
}

// theServer stands for the file where something is written to a socket.
const theServer = "the server"

// A tracer follows the threads of a program and, if detached, of the same program that it starts, but no other
// children.
type tracer struct {
	pid     int
	bin     string
	root    string
	in      interference
	n       int
	target  int          // the process that is interfered with; 0 = it was not started yet
	threads map[int]bool // of it, where it was started by the first
	groups  []int        // processes that are followed: each leads a group of its own
	refused map[int]bool // threads that are in a call that is to fail
	met     []string     // the calls
}

const tracing = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL

// wait waits for a thread to stop or end; 0 = a process is gone that ended before it was known. The processes
// have groups of their own, so it takes no child of another test.
func (tr *tracer) wait(late *atomic.Bool) (tid int, ws syscall.WaitStatus, err error) {
	options := unix.WALL | unix.WNOTHREAD
	if len(tr.groups) > 1 {
		options |= unix.WNOHANG
	}
	for {
		if len(tr.groups) > 1 { // until one of any group is ready
			_ = unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL|unix.WNOTHREAD, nil)
		}
		for _, group := range tr.groups {
			tid, err = syscall.Wait4(-group, &ws, options, nil)
			switch {
			case errors.Is(err, syscall.ECHILD) && errors.Is(syscall.Kill(group, 0), syscall.ESRCH):
				tr.forget(group)
				return 0, ws, nil
			case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ECHILD): // it leads none yet
			case tid != 0 || err != nil:
				return tid, ws, err
			}
		}
		if late.Load() { // the others continue, and would hold this one up
			for _, pid := range tr.groups {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if len(tr.groups) > 1 { // it was one of another test
			time.Sleep(50 * time.Microsecond)
		}
	}
}

func (tr *tracer) forget(process int) {
	tr.groups = slices.DeleteFunc(tr.groups, func(pid int) bool { return pid == process })
}

// run follows the processes until all have ended, and returns how the first of them did.
func (tr *tracer) run(late *atomic.Bool) (ended syscall.WaitStatus, err error) {
	for first := true; len(tr.groups) > 0; first = false {
		tid, ws, err := tr.wait(late)
		if err != nil {
			return ws, err
		}
		if ws.Exited() || ws.Signaled() {
			tr.forget(tid)
			if tid == tr.pid {
				ended = ws
			}
		}
		if tid == 0 || !ws.Stopped() {
			continue
		}
		if first {
			options := tracing
			if tr.in.detached {
				options |= syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEFORK
			}
			if err := syscall.PtraceSetOptions(tid, options); err != nil {
				return ws, err
			}
		}
		pass, err := tr.stopped(tid, ws)
		if err == nil {
			err = tr.proceed(tid, pass)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) { // it was killed
			return ws, err
		}
	}
	return ended, nil
}

// proceed lets a thread continue, to its next system call where these count.
func (tr *tracer) proceed(tid, pass int) error {
	if tr.targeted(tid) {
		return syscall.PtraceSyscall(tid, pass)
	}
	return syscall.PtraceCont(tid, pass)
}

// stopped is called when a thread stopped, and returns the signal it is to get.
func (tr *tracer) stopped(tid int, ws syscall.WaitStatus) (pass int, err error) {
	switch sig := ws.StopSignal(); {
	case sig == syscall.SIGTRAP|0x80:
		return 0, tr.call(tid)
	case ws.TrapCause() == syscall.PTRACE_EVENT_VFORK, ws.TrapCause() == syscall.PTRACE_EVENT_FORK:
		child, err := syscall.PtraceGetEventMsg(tid)
		tr.groups = append(tr.groups, int(child))
		return 0, err
	// a program was started
	case sig == syscall.SIGTRAP && tr.target == 0 && tid != tr.pid && slices.Contains(tr.groups, tid):
		if bin, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", tid)); bin != tr.bin {
			return 0, fmt.Errorf("it starts %s", bin)
		}
		tr.target = tid
		return 0, syscall.PtraceSetOptions(tid, tracing) // its actions are left alone
	case sig == syscall.SIGTRAP, sig == syscall.SIGSTOP: // the program was started, or a thread was
		return 0, nil
	default:
		return int(sig), nil
	}
}

// call is called when a thread begins or ends a system call.
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
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return e
	}
	if info.op != unix.PTRACE_SYSCALL_INFO_ENTRY || !tr.in.calls[info.nr] || !tr.targeted(tid) {
		return nil
	}
	where, ok := tr.file(info)
	where = strings.TrimPrefix(where, tr.root)
	if !ok || !strings.Contains(where, tr.in.below) {
		return nil
	}
	tr.met = append(tr.met, fmt.Sprintf("call %d of %s", info.nr, where))
	if n := len(tr.met); n != tr.n && (!tr.in.rest || tr.n == 0 || n < tr.n) {
		return nil
	}
	if tr.in.errno == 0 {
		return syscall.Kill(tr.target, syscall.SIGKILL)
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0) // no call at all
	tr.refused[tid] = true
	return syscall.PtraceSetRegs(tid, &regs)
}

// targeted reports whether a thread is one of the process that is interfered with.
func (tr *tracer) targeted(tid int) bool {
	if !tr.in.detached || tid == tr.target || tr.target == 0 || tr.threads[tid] {
		return tr.target != 0
	}
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", tr.target, tid))
	if err == nil {
		tr.threads[tid] = true
	}
	return err == nil
}

// file says which file of the project a call reads or changes, if it does.
func (tr *tracer) file(info callInfo) (string, bool) {
	folder, name := -1, 0 // which of its words say what
	switch info.nr {
	case unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_GETDENTS64, unix.SYS_WRITE,
		unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
		unix.SYS_FTRUNCATE:
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.target, int32(info.args[0])))
		if err == nil && strings.HasPrefix(path, "socket:") {
			return theServer, tr.in.sockets
		}
		// The first three are what it prints for users.
		return path, err == nil && info.args[0] > 2 && strings.HasPrefix(path, tr.root)
	case unix.SYS_KILL, unix.SYS_PIDFD_SEND_SIGNAL:
		return "a process", info.args[1] != 0
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
		base, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", tr.target, at))
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
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tr.target))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, syscall.PathMax)
	n, _ := f.ReadAt(b, int64(at)) // it may end at the end of a page
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(text)
}
