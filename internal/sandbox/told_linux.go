//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter that refuses a system call can have this process answer for it, and so hear of it. The program waits
// meanwhile, so what it was refused is known before it ends. Where a filter around this process does the same
// already, the kernel makes no second one.

const (
	filterAsk      = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	filterListener = 8          // SECCOMP_FILTER_FLAG_NEW_LISTENER
)

// A question is struct seccomp_notif, an answer struct seccomp_notif_resp.
type (
	question struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		at         uint64
		args       [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		no    int32
		flags uint32
	}
)

// A listener answers for one filter.
type listener struct{ file *os.File }

// newListener answers what comes to a descriptor, until it is closed: nothing is let through. told is called
// with the name of each call and the process.
func newListener(fd int, told func(name string, pid int)) *listener {
	_ = unix.SetNonblock(fd, true) // so that the runtime waits for it
	l := &listener{os.NewFile(uintptr(fd), "seccomp")}
	conn, err := l.file.SyscallConn()
	if err != nil {
		return l
	}
	go func() {
		for err == nil {
			over := false
			err = conn.Read(func(fd uintptr) bool {
				var more bool
				more, over = answerOne(fd, told)
				return more || over
			})
			if over {
				break
			}
		}
		l.close() // what the filter is for has ended
	}()
	return l
}

// answerOne answers a program that waits. It reports whether one did, and whether none will any more.
func answerOne(fd uintptr, told func(string, int)) (more, over bool) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	switch {
	case errors.Is(err, unix.EINTR) || n == 0:
		return false, false
	case err != nil || fds[0].Revents&unix.POLLIN == 0:
		return false, true
	}
	var q question
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); e != 0 {
		return true, e != unix.EINTR && e != unix.ENOENT // the program was killed meanwhile
	}
	name, no := callOf(q.number, q.args)
	told(name, int(q.pid))
	a := answer{id: q.id, no: -int32(no)}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	return true, false
}

func (l *listener) close() {
	if l != nil {
		_ = l.file.Close()
	}
}

// mayAsk reports whether a filter may ask here. The first call tries it.
var mayAsk = sync.OnceValue(func() bool {
	made := make(chan bool, 1)
	onThread(func() {
		if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
			made <- false
			return
		}
		fd, err := filter(socketsAll, true).enforce(true)
		if err == nil {
			_ = unix.Close(fd)
		}
		made <- err == nil
	})
	return <-made
})

// networkCall is what a call for a socket of the network is named. A host has a port after its name, and no
// other call has this name.
const networkCall = "network"

// callOf returns the name of a refused system call, as users know it, and its error.
func callOf(number int32, args [6]uint64) (name string, no syscall.Errno) {
	switch number {
	case unix.SYS_SOCKET:
		domain, kind := int32(args[0]), int32(args[1])&typeMask
		name = fmt.Sprintf("socket(%d)", domain)
		switch {
		case kind == unix.SOCK_RAW && (domain == unix.AF_INET || domain == unix.AF_INET6):
			name = "socket(raw)"
		case domain == unix.AF_INET || domain == unix.AF_INET6:
			name = networkCall
		case domain == unix.AF_NETLINK:
			name = "socket(netlink)"
		case domain == unix.AF_PACKET:
			name = "socket(packet)"
		}
		return name, unix.EACCES
	case unix.SYS_IOCTL:
		return "ioctl(TIOCSTI)", unix.EPERM
	case unix.SYS_PRLIMIT64:
		return "prlimit()", unix.EPERM
	}
	return forbidden[uintptr(number)] + "()", unix.EPERM
}

// A refusedCall is what a filter refused, and the variable by which the program that called is known; "" = it has none.
type refusedCall struct{ name, by string }

// markVariable is what tells programs which actions they belong to, with ; between them.
const markVariable = "LOOPS_ACTION="

// mostTold bounds what is remembered of programs that try everything.
const mostTold = 10 * mostRefused

// tell notes a call that the filter refused to a process, which waits.
func (b *Box) tell(name string, pid int) {
	call := refusedCall{name: name}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for e := range strings.SplitSeq(string(text), "\x00") {
		if by, ok := strings.CutPrefix(e, markVariable); ok {
			call.by = by
		}
	}
	b.toldMu.Lock()
	defer b.toldMu.Unlock()
	if len(b.told) < mostTold && !slices.Contains(b.told, call) {
		b.told = append(b.told, call)
	}
}

// Told returns the calls that were refused to programs of the action with a marker since the last call, and to
// those that are of no action they know: system calls, as ptrace(), and network for a socket of the network.
func (b *Box) Told(marker string) (names []string) {
	b.toldMu.Lock()
	defer b.toldMu.Unlock()
	b.told = slices.DeleteFunc(b.told, func(c refusedCall) bool {
		its := c.by == "" || slices.Contains(strings.Split(c.by, ";"), marker)
		if its && len(names) < mostRefused && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
		return its
	})
	return names
}
