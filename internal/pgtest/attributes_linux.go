package pgtest

import "syscall"

// attributes make a process end with this one, whatever happens to it, and lead a group.
func attributes(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: cred, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
