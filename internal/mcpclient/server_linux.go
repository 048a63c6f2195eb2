package mcpclient

import "syscall"

// attributes asks for KILL when the thread that starts the server dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
