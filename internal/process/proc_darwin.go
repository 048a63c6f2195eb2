package process

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// environ returns the environment a process of this user began with, "" where the system does not give it away;
// that is so for programs it protects.
func environ(pid int) string {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(kp.Eproc.Ucred.Uid) != os.Geteuid() {
		return ""
	}
	// The block is: number of arguments, path of the program, padding zeros, arguments, environment.
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return ""
	}
	args := int(binary.NativeEndian.Uint32(b))
	_, b, _ = bytes.Cut(b[4:], []byte{0})
	b = bytes.TrimLeft(b, "\x00")
	for range args {
		var more bool
		if _, b, more = bytes.Cut(b, []byte{0}); !more {
			return ""
		}
	}
	return string(b)
}
