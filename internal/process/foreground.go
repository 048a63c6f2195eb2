//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// GiveTerminal makes a process group of this session the one that reads a terminal and gets its signals; 0 is the group
// of this process. It stops a process of a group that has not got the terminal, unless that ignores SIGTTOU.
func GiveTerminal(terminal *os.File, group int) error {
	if group == 0 {
		group = syscall.Getpgrp()
	}
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPGRP, group)
}
