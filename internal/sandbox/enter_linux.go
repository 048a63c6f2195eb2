//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"loops/fsm/confine"
	"loops/internal/process"
)

// Where this process may make no namespaces, it starts itself instead of a command, in a user namespace. There the new
// process may make mounts and a network. It limits itself, and becomes the command: process, parent and group stay.

// enterName is the name that this program has then.
const enterName = "loops-sandbox"

// enters says that this program calls Enter, so that it can be started instead of a command.
var enters bool

// limits are what a thread takes upon itself before it starts commands or becomes one.
type limits struct {
	Rules   Rules // those that mounts need
	Mounts  bool  // files are protected by mounts
	Network bool  // it gets a network that has nothing but the loopback device
	Proxied bool  // in that, the proxy listens
	Set     int   // descriptor of the ruleset; -1 = none
	Filter  []unix.SockFilter
}

// An entry is what this program is to become a command with.
type entry struct {
	Limits limits
	Path   string // "" = nothing: it was a try
	Argv   []string
	Dir    string
}

// limits returns what the rules ask of a thread.
func (b *Box) limits(s *starter) limits {
	r := b.rules
	return limits{
		Rules: Rules{
			Write: r.Write, Protect: r.Protect, Frozen: r.Frozen, Sockets: r.Sockets, Covered: r.Covered, RunDir: r.RunDir,
		},
		Mounts:  b.spaces != spacesNone && (len(r.Protect) > 0 || len(r.Sockets) > 0 || r.Write != nil),
		Network: b.spaces != spacesNone && (r.Network == confine.NetLoopback || r.Network == ""),
		Proxied: b.proxy != nil,
		Set:     s.set.fd,
		Filter:  b.filter,
	}
}

// take limits this thread. listening is called with where the proxy listens.
func (l *limits) take(listening func(*os.File) error) error {
	if l.Mounts {
		if err := l.Rules.newMounts(l.Rules.Write); err != nil {
			return err
		}
	}
	if l.Network {
		if err := newNetwork(); err != nil {
			return err
		}
		if l.Proxied {
			f, err := listenHere(proxyPort)
			if err == nil {
				err = errors.Join(listening(f), f.Close())
			}
			if err != nil {
				return fmt.Errorf("the proxy cannot listen: %w", err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	dropPowers()
	if l.Set >= 0 {
		if err := restrictSelf(l.Set); err != nil {
			return err
		}
	}
	return program(l.Filter).enforce()
}

// Enter returns at once, unless this process was started instead of a command: then it limits itself, becomes the command,
// and does not return. main calls it first.
func Enter() {
	if len(os.Args) != 2 || os.Args[0] != enterName {
		enters = true
		return
	}
	runtime.LockOSThread()
	fd, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	unix.CloseOnExec(fd)
	runner := os.NewFile(uintptr(fd), "runner")
	if err = enter(runner); err != nil {
		var no syscall.Errno
		errors.As(err, &no)
		_ = gob.NewEncoder(runner).Encode(refusal{err.Error(), int(no)})
		os.Exit(2)
	}
	os.Exit(0)
}

// A refusal is why a process did not become a command.
type refusal struct {
	Text string
	No   int // of the error of the system; 0 = none
}

func (r *refusal) Error() string { return r.Text }

// Unwrap returns the error of the system.
func (r *refusal) Unwrap() error {
	if r.No == 0 {
		return nil
	}
	return syscall.Errno(r.No)
}

// enter reads from the runner what to become, and becomes it.
func enter(runner *os.File) error {
	var e entry
	if err := gob.NewDecoder(runner).Decode(&e); err != nil {
		return err
	}
	if e.Limits.Set >= 0 {
		unix.CloseOnExec(e.Limits.Set)
	}
	err := e.Limits.take(func(l *os.File) error {
		return unix.Sendmsg(int(runner.Fd()), []byte{0}, unix.UnixRights(int(l.Fd())), nil, 0)
	})
	if err != nil || e.Path == "" {
		return err
	}
	if e.Dir != "" { // by its name: what was mounted since lies over the folder that this process is in
		if err := os.Chdir(e.Dir); err != nil {
			return err
		}
	}
	return syscall.Exec(e.Path, e.Argv, syscall.Environ())
}

// enter has fork start this program instead of a command. It returns when that process has become the command, with the
// socket on which the proxy listens in its network; nil = none.
func (s Spawn) enter(l limits, fork func(Spawn) error) (net.Listener, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, its := os.NewFile(uintptr(ends[0]), "command"), os.NewFile(uintptr(ends[1]), "runner")
	defer func() { _ = own.Close() }()
	instead := Spawn{"/proc/self/exe", []string{enterName, strconv.Itoa(len(s.Attr.Files))}, s.Attr}
	instead.Attr.Files = append(slices.Clone(s.Attr.Files), its.Fd())
	if l.Set >= 0 {
		instead.Attr.Files = append(instead.Attr.Files, uintptr(l.Set))
		l.Set = len(instead.Attr.Files) - 1
	}
	sys := *s.Attr.Sys
	sys.Cloneflags |= unix.CLONE_NEWUSER
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	// until it becomes the command
	sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	instead.Attr.Sys = &sys
	err = fork(instead)
	_ = its.Close()
	if err != nil {
		return nil, err
	}
	if gob.NewEncoder(own).Encode(entry{l, s.Path, s.Argv, s.Attr.Dir}) != nil {
		return nil, nil // it was ended, as its exit says
	}
	return entered(own, l.Network && l.Proxied)
}

// entered waits until a process has become a command.
func entered(own *os.File, proxied bool) (listener net.Listener, err error) {
	first := make([]byte, 0, 1)
	if proxied {
		rights := make([]byte, unix.CmsgSpace(4))
		n, m, _, _, err := unix.Recvmsg(int(own.Fd()), first[:1], rights, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("the proxy has no place to listen: %w", err)
		}
		if m > 0 {
			listener, err = received(rights[:m])
		} else {
			first = first[:n] // of a refusal
		}
		if err != nil {
			return nil, err
		}
	}
	var why refusal
	err = gob.NewDecoder(io.MultiReader(bytes.NewReader(first), own)).Decode(&why)
	if err != nil { // the end of what it says: it is the command now, or was ended
		return listener, nil
	}
	if listener != nil {
		_ = listener.Close()
	}
	return nil, &why
}

// received returns the listener that came with a message.
func received(rights []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}

// mayEnter reports whether commands may begin in a user namespace. The first call tries it.
var mayEnter = sync.OnceValue(func() bool {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if !enters || err != nil {
		return false
	}
	defer func() { _ = null.Close() }()
	pid, at := 0, null.Fd()
	s := Spawn{Attr: syscall.ProcAttr{Env: []string{}, Files: []uintptr{at, at, at}, Sys: &syscall.SysProcAttr{}}}
	try := limits{
		Rules: Rules{Write: []string{os.TempDir()}}, Mounts: true, Network: true, Set: -1, Filter: filter(socketsLocal),
	}
	_, err = s.enter(try, func(s Spawn) (err error) {
		pid, err = process.Fork(func() (int, error) { return syscall.ForkExec(s.Path, s.Argv, &s.Attr) })
		return err
	})
	if pid == 0 {
		return false
	}
	var ended syscall.WaitStatus
	for {
		if _, e := syscall.Wait4(pid, &ended, 0, nil); !errors.Is(e, syscall.EINTR) {
			break
		}
	}
	process.Waited(pid)
	return err == nil && ended.Exited() && ended.ExitStatus() == 0
})
