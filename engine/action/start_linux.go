package action

import (
	"syscall"

	"golang.org/x/sys/unix"

	"loops/internal/process"
)

// attributes asks for a process group of its own, for KILL when the thread that starts the process dies, and for a
// descriptor that reports when the process has exited. A session of its own would do as well, but where the kernel
// schedules by session, making one costs a fifth of a spawn. The process begins in the control group, if there is one.
func attributes(watch *int, group *process.Cgroup) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: watch}
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, group.FD()
	}
	return attr
}

func pipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// widen makes a pipe hold as much as any process may ask for, if it can be had: Gemini CLI exits without what its pipe
// did not hold, and calls that a success.
func widen(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20) }

// maxRSS returns the peak of ru, in bytes.
func maxRSS(ru syscall.Rusage) int64 { return ru.Maxrss << 10 }
