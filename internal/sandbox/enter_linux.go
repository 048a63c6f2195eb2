//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"loops/fsm/confine"
	"loops/internal/process"
)

// Where this process may make no namespaces, another one makes them: this program, started in a user namespace.
// It hands them over and ends; commands join them between fork and exec, see fork_linux.go. Process, parent and
// group stay.

// enterName is the name that this program has then. With one more word it ends at once.
const enterName = "loops-sandbox"

// enters says that this program calls Enter, so that it can be started to make namespaces.
var enters bool

// limits are what a thread takes upon itself before it starts commands.
type limits struct {
	Rules   Rules // those that mounts need
	Mounts  bool  // files are protected by mounts
	Network bool  // it gets a network that has nothing but the loopback device
	Proxied bool  // in that, the proxy listens
	Set     int   // descriptor of the ruleset; -1 = none
	Filter  []unix.SockFilter
}

// limits returns what the rules ask of a thread.
func (b *Box) limits(s *starter) limits {
	r := b.rules
	return limits{
		Rules: Rules{
			Write: r.Write, Protect: r.Protect, Frozen: r.Frozen, Sockets: r.Sockets, Covered: r.Covered,
			RunDir: r.RunDir,
		},
		Mounts:  b.spaces != spacesNone && (len(r.Protect) > 0 || len(r.Sockets) > 0 || r.Write != nil),
		Network: b.spaces != spacesNone && (r.Network == confine.NetLoopback || r.Network == ""),
		Proxied: b.proxy != nil,
		Set:     s.set.fd,
		Filter:  b.filter,
	}
}

// take limits this thread. listening is called with where the proxy listens. It returns what [program.enforce] does.
func (l *limits) take(listening func(*os.File) error, asks bool) (fd int, err error) {
	if err := l.apart(listening); err != nil {
		return -1, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no_new_privs: %w", err)
	}
	dropPowers()
	if l.Set >= 0 {
		if err := restrictSelf(l.Set); err != nil {
			return -1, err
		}
	}
	return program(l.Filter).enforce(asks)
}

// apart gives this thread the namespaces. listening is called with where the proxy listens.
func (l *limits) apart(listening func(*os.File) error) error {
	if l.Mounts {
		if err := l.Rules.newMounts(l.Rules.Write); err != nil {
			return err
		}
	}
	if !l.Network {
		return nil
	}
	if err := newNetwork(); err != nil || !l.Proxied {
		return err
	}
	f, err := listenHere(proxyPort)
	if err == nil {
		err = errors.Join(listening(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("the proxy cannot listen: %w", err)
	}
	return nil
}

// Enter returns at once, unless this process was started to make namespaces: then it does that, and does not
// return. main calls it first.
func Enter() {
	if len(os.Args) != 2 || os.Args[0] != enterName {
		enters = true
		return
	}
	runtime.LockOSThread()
	fd, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(0)
	}
	unix.CloseOnExec(fd)
	runner := os.NewFile(uintptr(fd), "runner")
	if err = handOver(runner); err != nil {
		var no syscall.Errno
		errors.As(err, &no)
		_ = gob.NewEncoder(runner).Encode(refusal{err.Error(), int(no)})
		os.Exit(2)
	}
	os.Exit(0)
}

// A refusal is why a process made no namespaces.
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

// spaceNames are the files of a process that are its namespaces.
var spaceNames = []string{"user", "mnt", "net"}

// handOver reads from the runner which namespaces it wants, makes them, and sends them: their files, and the socket on
// which the proxy listens, if there is one.
func handOver(runner *os.File) error {
	var l limits
	if err := gob.NewDecoder(runner).Decode(&l); err != nil {
		return err
	}
	var fds []int
	err := l.apart(func(f *os.File) (err error) {
		fd, err := unix.Dup(int(f.Fd()))
		fds = append(fds, fd)
		return err
	})
	if err != nil {
		return err
	}
	for i, name := range spaceNames {
		fd, err := unix.Open(fmt.Sprintf("/proc/thread-self/ns/%s", name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("its namespace %s cannot be handed over: %w", name, err)
		}
		fds = slices.Insert(fds, i, fd)
	}
	return unix.Sendmsg(int(runner.Fd()), []byte{0}, unix.UnixRights(fds...), nil, 0)
}

// newInside has another process make the namespaces that limits ask for, in a user namespace of its own or of
// bubblewrap. It returns them, with the socket on which the proxy listens there; nil = none.
func newInside(by space, l limits) (in *inside, listener net.Listener, err error) {
	// The process ends with the thread that started it. Another command may end any thread that is not locked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = null.Close() }()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	own, its := os.NewFile(uintptr(ends[0]), "maker"), os.NewFile(uintptr(ends[1]), "runner")
	defer func() { _ = own.Close() }()
	maker := Spawn{Path: "/proc/self/exe", Argv: []string{enterName, "3"}, Attr: syscall.ProcAttr{
		Env: []string{}, Dir: "/", Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), its.Fd()},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}}
	if by == spacesBubble {
		maker.within = &inside{user: bubble(), mounts: -1, net: -1, set: -1, maker: true}
	} else {
		sys := maker.Attr.Sys
		sys.Cloneflags, sys.AmbientCaps = unix.CLONE_NEWUSER, makerPowers
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	pid, err := process.Fork(maker.Fork)
	_ = its.Close()
	if err != nil {
		return nil, nil, err
	}
	defer waitFor(pid)
	set, filter := l.Set, l.Filter
	l.Set, l.Filter = -1, nil
	if err := gob.NewEncoder(own).Encode(l); err != nil {
		return nil, nil, fmt.Errorf("no process makes namespaces: %w", err)
	}
	fds, err := received(own)
	if err != nil {
		return nil, nil, err
	}
	in = &inside{user: fds[0], mounts: fds[1], net: fds[2], set: set, filter: filter, files: commandFiles()}
	if !l.Mounts { // they are those of this process
		_ = unix.Close(in.mounts)
		in.mounts = -1
	}
	if !l.Network {
		_ = unix.Close(in.net)
		in.net = -1
	}
	if len(fds) > len(spaceNames) {
		f := os.NewFile(uintptr(fds[len(spaceNames)]), "proxy")
		listener, err = net.FileListener(f)
		_ = f.Close()
	}
	if err != nil {
		in.close()
		return nil, nil, err
	}
	return in, listener, nil
}

// makerPowers are the capabilities of a process that makes namespaces, in its user namespace.
var makerPowers = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// bubble returns a descriptor of a user namespace that bubblewrap made, which processes of this one may join;
// -1 = it makes none. A system may leave user namespaces with capabilities to it alone (AppArmor). A bwrap that
// is setuid makes none that its user may join.
var bubble = sync.OnceValue(func() int {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return -1
	}
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	cmd := exec.Command(path, "--unshare-user", "--uid", uid, "--gid", gid, "--dev-bind", "/", "/", "/bin/sh", "-c",
		"echo $$; read -r end")
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		return -1
	}
	out, err := cmd.StdoutPipe()
	if err != nil || process.StartChild(cmd) != nil {
		return -1
	}
	defer func() {
		_ = in.Close()
		_ = process.WaitChild(cmd)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return -1
	}
	fd, err := unix.Open("/proc/"+strings.TrimSpace(line)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
})

// close gives up the namespaces, which stay as long as commands are in them.
func (in *inside) close() {
	if in != nil {
		for _, fd := range []int{in.user, in.mounts, in.net} {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
		}
	}
}

// received returns the descriptors that a process hands over.
func received(from *os.File) ([]int, error) {
	first, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*(len(spaceNames)+1)))
	n, m, _, _, err := unix.Recvmsg(int(from.Fd()), first, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("no namespaces were made: %w", err)
	}
	if m == 0 {
		var why refusal
		if err := gob.NewDecoder(io.MultiReader(bytes.NewReader(first[:n]), from)).Decode(&why); err != nil {
			return nil, fmt.Errorf("no namespaces were made: %w", err)
		}
		return nil, &why
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err == nil && len(fds) < len(spaceNames) {
		err = errors.New("not all namespaces were handed over")
	}
	return fds, err
}

// mayEnter reports whether commands may begin in a user namespace that is made in a way. The first call tries it.
func mayEnter(by space) bool {
	switch {
	case !enters:
		return false
	case by == spacesBubble:
		return mayBubble()
	}
	return mayUser()
}

var (
	mayUser   = sync.OnceValue(func() bool { return tryEnter(spacesUser) })
	mayBubble = sync.OnceValue(func() bool { return bubble() >= 0 && tryEnter(spacesBubble) })
)

// tryEnter has a command begin in a user namespace.
func tryEnter(by space) bool {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = null.Close() }()
	try := limits{
		Rules: Rules{Write: []string{os.TempDir()}}, Mounts: true, Network: true, Set: -1,
		Filter: filter(socketsLocal, false),
	}
	in, _, err := newInside(by, try)
	if err != nil {
		return false
	}
	defer in.close()
	at := null.Fd()
	s := Spawn{
		Path: "/proc/self/exe", Argv: []string{enterName, "-"}, within: in,
		Attr: syscall.ProcAttr{Env: []string{}, Files: []uintptr{at, at, at}, Dir: "/", Sys: &syscall.SysProcAttr{}},
	}
	pid, err := process.Fork(s.Fork)
	if err != nil {
		return false
	}
	ended := waitFor(pid)
	return ended.Exited() && ended.ExitStatus() == 0
}
