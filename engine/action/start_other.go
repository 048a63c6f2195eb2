//go:build !linux

package action

import (
	"syscall"

	"golang.org/x/sys/unix"

	"loops/internal/process"
)

// attributes asks for a process group of its own.
func attributes(*int, *process.Cgroup) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}

// widen does nothing where the system decides how much a pipe holds.
func widen(int) {}

// maxRSS returns the peak of ru, in bytes.
func maxRSS(ru syscall.Rusage) int64 { return ru.Maxrss }
