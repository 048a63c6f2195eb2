//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loops/fsm/confine"
)

// onThread calls f on a thread of its own, which ends when f returns. It is never the first thread of the process: by
// that the process is known, and it cannot end.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // still locked, so that the thread ends
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// A Box starts commands that the rules limit. It may be used by several at once.
type Box struct {
	rules  *Rules
	filter program
	spaces space // how commands get namespaces, where the rules need them
	known  known // what is at protected paths

	mu      sync.Mutex
	starter *starter     // nil = none
	groups  []string     // control groups of the first version
	proxy   *proxy       // nil = none
	server  *http.Server // of the proxy, where no network namespace can be made; else nil
	abi     int          // version of Landlock
	port    int          // of the proxy, where no network namespace can be made

	toldMu sync.Mutex
	told   []refusedCall // since the last look; guarded by toldMu
}

// A space is how a command gets mounts and a network of its own.
type space byte

const (
	spacesNone   space = iota // it does not
	spacesRoot                // the thread that starts it has them
	spacesUser                // it joins those that a process in a user namespace made, see Enter
	spacesBubble              // the same in a user namespace that bubblewrap made
)

// spaces returns how it can get them here.
func spaces() space {
	switch {
	case mayNamespace():
		return spacesRoot
	case mayEnter(spacesUser):
		return spacesUser
	case mayEnter(spacesBubble):
		return spacesBubble
	}
	return spacesNone
}

// A starter is a thread that is limited, and starts commands one by one. It lives until the last of them has ended,
// because the kernel ends children with the thread that started them.
type starter struct {
	set   *ruleset
	in    *inside // where commands begin; nil = on this thread
	forks chan func()
	users int       // commands that run
	proxy io.Closer // of its network; nil = none
	old   bool
}

// leave ends the thread when nothing that it started runs.
func (s *starter) leave() {
	if s.old && s.users == 0 {
		close(s.forks)
		s.in.close()
		if s.proxy != nil {
			_ = s.proxy.Close()
		}
	}
}

// New returns a box for these rules.
func New(r *Rules) *Box {
	b := &Box{rules: r, spaces: spaces(), abi: landlockABI()}
	b.choose()
	return b
}

// use has commands get namespaces in a way, as for a user who has no other.
func (b *Box) use(spaces space) {
	b.spaces = spaces
	b.choose()
}

// choose makes the filter of system calls.
func (b *Box) choose() {
	r, reach := b.rules, socketsAll
	switch {
	case r.Network == confine.NetNone:
		reach = socketsLocal
	case r.Network == "" && b.spaces == spacesNone:
		reach = socketsTCP
	}
	b.filter = filter(reach, mayAsk())
}

// Rules returns what the box allows.
func (b *Box) Rules() *Rules { return b.rules }

// leavingTries is how often Close looks whether the thread has left its control groups.
const leavingTries = 50

// Close releases what the box holds. Commands that it started stay limited.
func (b *Box) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retire()
	for _, dir := range b.groups { // one that has processes stays
		for range leavingTries { // the thread that was in it is about to end
			if err := os.Remove(dir); err == nil || !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	b.groups = nil
	if b.server != nil {
		_ = b.server.Close()
	}
	if b.proxy != nil {
		b.proxy.secrets.close()
	}
}

// proxyPort is that of the proxy in a network of its own, where nothing else listens.
const proxyPort = 3128

// Proxy returns the variables that name the proxy to a command that is to start, and what is called when it has
// ended: that returns the hosts that the command asked for in vain. The proxy reaches hosts for it; no
// variables = it needs none.
func (b *Box) Proxy() (vars []string, refused func() []string, err error) {
	if b.rules.Network != "" {
		return nil, func() []string { return nil }, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proxy == nil {
		if err := b.intercept(); err != nil {
			return nil, nil, err
		}
		b.port = proxyPort
		if b.spaces == spacesNone {
			if err := b.listen(); err != nil {
				b.proxy.secrets.close()
				b.proxy = nil
				return nil, nil, err
			}
		}
	}
	p, address := b.proxy, b.proxy.begin()
	refused = func() []string { return p.end(address) }
	at := net.JoinHostPort(address, strconv.Itoa(b.port))
	if b.spaces == spacesNone {
		l, err := net.Listen("tcp", at)
		if err != nil {
			_ = refused()
			return nil, nil, err
		}
		go func() { _ = b.server.Serve(l) }()
		refused = func() []string {
			_ = l.Close()
			return p.end(address)
		}
	}
	vars = proxyVars(at, b.rules.Hosts)
	if p.secrets != nil {
		vars = append(vars, p.secrets.vars...)
	}
	return vars, refused, nil
}

// listen chooses the port of the proxy, which is this box's at every address of the loopback device from then
// on: commands may connect to one port alone.
func (b *Box) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.port = l.Addr().(*net.TCPAddr).Port
	b.server = b.proxy.serve(l)
	return nil
}

// intercept makes the proxy.
func (b *Box) intercept() (err error) {
	p := &proxy{hosts: b.rules.Hosts, refused: map[string][]string{}}
	if len(b.rules.Egress) > 0 {
		if p.secrets, err = newInterceptor(b.rules.Egress, b.rules.Scratch, b.rules.User); err != nil {
			return err
		}
	}
	b.proxy = p
	return nil
}

// Missing returns what of the rules cannot be enforced on this machine, in words.
func (b *Box) Missing() []string {
	var list []string
	r, abi := b.rules, b.abi
	if r.limitsFiles() && abi == 0 {
		list = append(list, "files can be read and changed: the kernel has no Landlock")
	}
	if r.Write != nil && (b.spaces == spacesNone || !mayFreeze()) {
		list = append(list, "modes, owners and dates of files outside can be changed: no mount namespace can be made")
	}
	if abi > 0 && abi < abiTruncate && r.Write != nil {
		list = append(list, "files outside can be emptied: Landlock of this kernel is too old for that")
	}
	switch {
	case abi == 0:
		list = append(list, "other processes can be looked into and sent signals, and their abstract sockets be "+
			"reached: the kernel has no Landlock")
	case abi < abiScope:
		list = append(list, "other processes can be sent signals, and their abstract sockets be reached: Landlock "+
			"of this kernel is too old for that")
	}
	if len(r.Protect) > 0 && b.spaces == spacesNone {
		list = append(list, "protected files of the work tree are checked afterwards: no mount namespace can be made")
	}
	if len(r.Sockets) > 0 && b.spaces == spacesNone {
		list = append(list, "sockets of other programs (docker, ssh-agent, tmux, D-Bus, displays) can be reached: "+
			"no mount namespace can be made")
	}
	switch {
	case r.Network == confine.NetLoopback && b.spaces == spacesNone:
		list = append(list, "the network can be reached: no network namespace can be made")
	case r.Network == "" && b.spaces == spacesNone && abi < abiNetwork:
		list = append(list, "other hosts can be reached by programs that use no proxy: no network namespace can be "+
			"made, and Landlock is too old")
	case r.Network == "" && b.spaces == spacesNone:
		list = append(list, "a program can reach other hosts at the port of the proxy: no network "+
			"namespace can be made")
	}
	return append(list, r.missingLimits()...)
}

// A Spawn is a process to start, by Fork.
type Spawn struct {
	Path   string
	Argv   []string
	Attr   syscall.ProcAttr // Sys is there
	within *inside          // nil = where this process is
}

// Start calls fork with what to start for a command. The kernel ends the process with the thread that fork is
// called on. Start returns what to call when the process has ended.
func (b *Box) Start(s Spawn, fork func(Spawn) error) (end func(), err error) {
	by, err := b.free()
	if err != nil {
		return nil, err
	}
	s.within = by.in
	started := make(chan error, 1)
	by.forks <- func() { started <- fork(s) }
	err = <-started
	end = sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		by.users--
		by.leave()
	})
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// free returns the thread that starts commands, and counts one more of it.
func (b *Box) free() (s *starter, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starter == nil || !b.starter.set.fresh() {
		b.retire()
		if b.starter, err = b.newStarter(); err != nil {
			return nil, err
		}
	}
	b.starter.users++
	return b.starter, nil
}

// retire has no more commands started by the thread that did.
func (b *Box) retire() {
	if s := b.starter; s != nil {
		s.set.close()
		s.old = true
		s.leave()
		b.starter = nil
	}
}

// newStarter limits a new thread, for the files that there are now.
func (b *Box) newStarter() (*starter, error) {
	var err error
	if b.groups == nil {
		if b.groups, err = b.rules.newGroups(); err != nil {
			return nil, err
		}
	}
	s := &starter{forks: make(chan func())}
	port := 0
	if b.rules.Network == "" && b.spaces == spacesNone {
		port = max(b.port, 1) // without a proxy nothing is reached
	}
	if s.set, err = newRuleset(b.rules, port, b.abi); err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	onThread(func() {
		err := b.restrict(s)
		ready <- err
		if err != nil {
			return
		}
		for fork := range s.forks {
			fork()
		}
	})
	if err := <-ready; err != nil {
		s.set.close()
		s.in.close()
		if s.proxy != nil {
			_ = s.proxy.Close()
		}
		return nil, err
	}
	return s, nil
}

// restrict limits this thread, or has namespaces made in which what it starts limits itself.
func (b *Box) restrict(s *starter) error {
	if err := join(b.groups); err != nil {
		return err
	}
	l := b.limits(s)
	if b.spaces == spacesUser || b.spaces == spacesBubble {
		in, listener, err := newInside(b.spaces, l)
		if err == nil && listener != nil {
			s.proxy = b.proxy.serve(listener)
		}
		if s.in = in; in != nil && mayAsk() {
			in.asks = func(fd int) { newListener(fd, b.tell) }
		}
		return err
	}
	fd, err := l.take(func(f *os.File) error {
		listener, err := net.FileListener(f)
		if err == nil {
			s.proxy = b.proxy.serve(listener)
		}
		return err
	}, mayAsk())
	if err == nil && fd >= 0 {
		newListener(fd, b.tell)
	}
	return err
}

// Keep remembers the protected files that have to be checked after an action.
func (b *Box) Keep() *Kept { return b.rules.keep(b.spaces != spacesNone, &b.known) }
