//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"loops/internal/process"
)

// Where this process may make no namespaces, its commands are forked by this: between fork and exec they join
// namespaces that another process made, see hold, and limit themselves there. syscall.ForkExec has no room for that.

// An inside is where a command begins, and what limits it there.
type inside struct {
	user, mounts, net int  // descriptors of namespaces; -1 = that of this process
	set               int  // descriptor of the ruleset; -1 = none
	maker             bool // the command makes namespaces: nothing limits it, and it has makerPowers
	filter            program
	asks              func(fd int) // takes the descriptor of who answers for the filter; nil = it does not ask
	files             *unix.Rlimit // how many it may have open; nil = as many as this process
}

// A kernelCall is a system call of a forked child.
type kernelCall struct {
	number uintptr
	args   [5]uintptr
	must   bool    // an error ends the child
	into   *int32  // takes the result; nil = nothing does
	want   uintptr // of the parent: another result ends the child
}

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// cloneArgs are the arguments of clone3.
type cloneArgs struct {
	flags, pidFD, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// Fork starts the process and returns its number.
func (s Spawn) Fork() (pid int, err error) {
	if s.within == nil {
		return syscall.ForkExec(s.Path, s.Argv, &s.Attr)
	}
	return s.forkInside(s.within)
}

// A forking is what the child works through. Its memory stays where it is until the child has become the command.
type forking struct {
	calls []kernelCall
	exec  [3]uintptr
	pipe  uintptr // takes the error that ended the child
	said  uintptr // a socket for the descriptor of who answers for the filter; 0 = none
	clone cloneArgs
	watch int32 // its PidFD
	keep  []any // what calls point to
	no    syscall.Errno
}

// call adds a system call whose error ends the child.
func (f *forking) call(number uintptr, args ...uintptr) {
	c := kernelCall{number: number, must: true}
	copy(c.args[:], args)
	f.calls = append(f.calls, c)
}

// try adds one whose error does not.
func (f *forking) try(number uintptr, args ...uintptr) {
	f.call(number, args...)
	f.calls[len(f.calls)-1].must = false
}

// text returns where a text is.
func (f *forking) text(s string) (uintptr, error) {
	p, err := syscall.BytePtrFromString(s)
	f.keep = append(f.keep, p)
	return uintptr(unsafe.Pointer(p)), err
}

// texts returns where a list of texts is.
func (f *forking) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	f.keep = append(f.keep, p)
	return uintptr(unsafe.Pointer(&p[0])), nil
}

// forkInside forks a command that begins within namespaces.
func (s Spawn) forkInside(in *inside) (pid int, err error) {
	f := &forking{watch: -1}
	syscall.ForkLock.Lock()
	var ends, said [2]int
	if err = unix.Pipe2(ends[:], unix.O_CLOEXEC); err == nil && in.asks != nil && len(in.filter) > 0 {
		if said, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
			f.said = uintptr(said[1])
		}
	}
	if err == nil {
		if err = f.prepare(s, in, ends[1]); err == nil {
			var no syscall.Errno
			if pid, no = f.fork(); no != 0 {
				err = no
			}
		}
		_ = unix.Close(ends[1])
	}
	syscall.ForkLock.Unlock()
	if f.said != 0 {
		_ = unix.Close(said[1])
		defer func() { _ = unix.Close(said[0]) }()
	}
	if err != nil {
		if ends[0] != ends[1] {
			_ = unix.Close(ends[0])
		}
		return 0, err
	}
	text, _ := readAll(ends[0])
	_ = unix.Close(ends[0])
	if len(text) < int(unsafe.Sizeof(f.no)) {
		if s.Attr.Sys.PidFD != nil {
			*s.Attr.Sys.PidFD = int(f.watch)
		}
		if f.said != 0 { // it was sent before the child became the command
			if fd, err := sent(said[0]); err == nil {
				in.asks(fd)
			}
		}
		return pid, nil
	}
	var status syscall.WaitStatus
	for {
		if _, e := syscall.Wait4(pid, &status, 0, nil); !errors.Is(e, syscall.EINTR) {
			break
		}
	}
	if f.watch >= 0 {
		_ = unix.Close(int(f.watch))
	}
	return 0, *(*syscall.Errno)(unsafe.Pointer(&text[0]))
}

// sent returns the descriptor that waits in a socket.
func sent(socket int) (fd int, err error) {
	var one [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	_, m, _, _, err := unix.Recvmsg(socket, one[:], rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) == 0 {
		return -1, errors.Join(err, unix.ENOMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, errors.Join(err, unix.ENOMSG)
	}
	return fds[0], nil
}

// send has the child send the descriptor that a call returns.
func (f *forking) send() (into *int32) {
	rights := unix.UnixRights(0)
	message := &unix.Msghdr{Iov: &unix.Iovec{Base: new(byte), Len: 1}, Iovlen: 1, Control: &rights[0]}
	message.SetControllen(len(rights))
	f.keep = append(f.keep, message, rights)
	f.call(unix.SYS_SENDMSG, f.said, uintptr(unsafe.Pointer(message)), 0)
	return (*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)]))
}

// readAll reads a descriptor to its end.
func readAll(fd int) (text []byte, err error) {
	b := make([]byte, 64)
	for {
		n, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return text, err
		default:
			text = append(text, b[:n]...)
		}
	}
}

// prepare makes the list of what the child does: as syscall.ForkExec has it done, and what limits it.
func (f *forking) prepare(s Spawn, in *inside, pipe int) error {
	sys := s.Attr.Sys
	f.pipe, f.clone = uintptr(pipe), cloneArgs{exitSignal: uint64(syscall.SIGCHLD)}
	if sys.UseCgroupFD {
		f.clone.flags, f.clone.cgroup = unix.CLONE_INTO_CGROUP, uint64(sys.CgroupFD)
	}
	if sys.PidFD != nil {
		f.clone.flags |= unix.CLONE_PIDFD
		f.clone.pidFD = uint64(uintptr(unsafe.Pointer(&f.watch)))
	}
	var err error
	if f.exec[0], err = f.text(s.Path); err != nil {
		return err
	}
	if f.exec[1], err = f.texts(s.Argv); err != nil {
		return err
	}
	if f.exec[2], err = f.texts(s.Attr.Env); err != nil {
		return err
	}
	dir := s.Attr.Dir
	if dir == "" { // in a namespace of mounts a process begins at its root
		if dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	at, err := f.text(dir)
	if err != nil {
		return err
	}
	if sys.Setpgid {
		f.call(unix.SYS_SETPGID, 0, uintptr(sys.Pgid))
	}
	for _, space := range []struct{ fd, kind int }{
		{in.user, unix.CLONE_NEWUSER},
		{in.mounts, unix.CLONE_NEWNS},
		{in.net, unix.CLONE_NEWNET},
	} {
		if space.fd >= 0 {
			f.call(unix.SYS_SETNS, uintptr(space.fd), uintptr(space.kind))
		}
	}
	if in.maker {
		f.raise(makerPowers)
	} else {
		f.call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
		for _, c := range powers {
			f.try(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c)
		}
		f.try(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	}
	if in.set >= 0 {
		f.call(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(in.set))
	}
	f.call(unix.SYS_CHDIR, at)
	if sys.Pdeathsig != 0 { // after what changes its rights, because that takes it back
		f.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(sys.Pdeathsig))
		f.calls = append(f.calls, kernelCall{number: unix.SYS_GETPPID, want: uintptr(os.Getpid())})
	}
	f.descriptors(s.Attr.Files)
	if in.files != nil {
		f.try(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(in.files)))
	}
	if len(in.filter) > 0 {
		filter := &unix.SockFprog{Len: uint16(len(in.filter)), Filter: &in.filter[0]}
		f.keep = append(f.keep, filter)
		if f.said == 0 {
			f.call(unix.SYS_SECCOMP, filterSet, 0, uintptr(unsafe.Pointer(filter)))
			return nil
		}
		f.call(unix.SYS_SECCOMP, filterSet, filterListener, uintptr(unsafe.Pointer(filter)))
		at := len(f.calls) - 1
		f.calls[at].into = f.send()
	}
	return nil
}

// raise has the command keep capabilities, each below 32, that the child has.
func (f *forking) raise(capabilities []uintptr) {
	head, sets := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	for _, c := range capabilities {
		sets[0].Inheritable |= 1 << c
	}
	sets[0].Effective, sets[0].Permitted = sets[0].Inheritable, sets[0].Inheritable
	f.keep = append(f.keep, head, sets)
	f.call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(head)), uintptr(unsafe.Pointer(sets)))
	for _, c := range capabilities {
		f.call(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c)
	}
}

// descriptors has the child have these files as 0 and so on.
func (f *forking) descriptors(files []uintptr) {
	fd := slices.Clone(files)
	next := uintptr(len(fd))
	for _, n := range fd {
		next = max(next, n)
	}
	next++
	for _, own := range []*uintptr{&f.pipe, &f.said} {
		if *own == 0 || *own >= next {
			continue
		}
		for next == f.pipe || next == f.said {
			next++
		}
		f.call(unix.SYS_DUP3, *own, next, unix.O_CLOEXEC)
		*own = next
		next++
	}
	for i, n := range fd { // nothing is overwritten that is still needed
		if n >= uintptr(i) {
			continue
		}
		for next == f.pipe || next == f.said {
			next++
		}
		f.call(unix.SYS_DUP3, n, next, unix.O_CLOEXEC)
		fd[i] = next
		next++
	}
	for i, n := range fd {
		if n == uintptr(i) {
			f.call(unix.SYS_FCNTL, n, unix.F_SETFD, 0)
		} else {
			f.call(unix.SYS_DUP3, n, uintptr(i), 0)
		}
	}
	for i := len(fd); i < 3; i++ {
		f.try(unix.SYS_CLOSE, uintptr(i))
	}
}

// fork forks. In the child it does not return: nothing may be called there that needs more of a stack, or memory.
//
//go:noinline
//go:norace
//go:nocheckptr
func (f *forking) fork() (pid int, no syscall.Errno) {
	var r uintptr
	var i int
	var c *kernelCall
	beforeFork()
	r, _, no = syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&f.clone)), unsafe.Sizeof(f.clone), 0, 0,
		0, 0)
	if no != 0 || r != 0 {
		afterFork()
		return int(r), no
	}
	afterForkInChild()
	for i = range f.calls {
		c = &f.calls[i]
		r, _, no = syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
		if c.want != 0 && r != c.want {
			no = syscall.ESRCH
			break
		}
		if no != 0 && c.must {
			break
		}
		if c.into != nil {
			*c.into = int32(r)
		}
		no = 0
	}
	if no == 0 {
		_, _, no = syscall.RawSyscall(unix.SYS_EXECVE, f.exec[0], f.exec[1], f.exec[2])
	}
	f.no = no
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, f.pipe, uintptr(unsafe.Pointer(&f.no)), unsafe.Sizeof(f.no))
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT, 253, 0, 0)
	}
}

// commandFiles returns how many files commands may have open, where this process may have more: Go raises the limit for
// itself, and takes that back in what it starts. nil = as many. It starts a process, so it is not called while
// one is forked.
var commandFiles = sync.OnceValue(func() *unix.Rlimit {
	var own unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &own) != nil || own.Cur != own.Max-1 {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	pid, err := process.Fork(func() (int, error) {
		return syscall.ForkExec("/bin/sh", []string{"sh", "-c", "ulimit -Sn"},
			&syscall.ProcAttr{Env: []string{}, Files: []uintptr{w.Fd(), w.Fd(), w.Fd()}})
	})
	_ = w.Close()
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(r)
	waitFor(pid)
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil
	}
	return &unix.Rlimit{Cur: n, Max: own.Max}
})

// waitFor waits for a child.
func waitFor(pid int) (ended syscall.WaitStatus) {
	for {
		if _, e := syscall.Wait4(pid, &ended, 0, nil); !errors.Is(e, syscall.EINTR) {
			break
		}
	}
	process.Waited(pid)
	return ended
}
