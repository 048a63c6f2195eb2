package process

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of all that descends from it when its own parents end. That is a
// property of the whole process: only a program may ask for it, and it has to call [Orphans.Reap] from time to
// time.
func AdoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Orphans distinguishes the processes that this one has adopted since an action began from those it had before. Its
// methods may be called concurrently; of actions that run side by side it cannot tell whose an orphan is.
type Orphans struct {
	mu       sync.Mutex // guards these
	running  int        // actions that began and are not over
	before   map[Identity]bool
	sessions map[int]bool // of those
	known    map[int]int  // all children when before was found, and their sessions; nil = it was not found
}

// Since returns the live processes that were adopted since the child first started, and all that descend from
// them. first must not have been waited for.
func (o *Orphans) Since(first int) ([]Identity, error) {
	child, err := look(first)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tree(func(p info) bool { return p.pid != first && p.upMS >= child.upMS && !o.sessions[p.sid] })
}

// Reap waits for orphans that have ended, and for no other child of this process: first is that of the action that is
// running, whose exit code and process group are still needed when it has ended.
func (o *Orphans) Reap(first int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ended := reap(first); ended {
		o.known = nil // a later process may have the pid of one that was waited for
	}
}

// Begin is called when the first process of an action was started; Over is called when that is over.
func (o *Orphans) Begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running++
}

// Over is called when an action is over and its first process was waited for. When none is running, what has been
// adopted by now and is running still is not of the next one; where adopting is false, nothing was adopted.
func (o *Orphans) Over(adopting bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running--; o.running > 0 || !adopting {
		return
	}
	o.settle()
}

func (o *Orphans) settle() {
	left, ended := reap(0)
	var now map[int]int
	if left {
		now = ours()
	}
	if now != nil && o.known != nil && !ended && maps.Equal(now, o.known) {
		return // a daemon that an earlier action left is no reason to look at all processes after each
	}
	o.before, o.sessions, o.known = nil, nil, nil
	if !left {
		return
	}
	all, err := list()
	if err != nil {
		return
	}
	o.before, o.sessions, o.known = map[Identity]bool{}, map[int]bool{}, now
	for _, p := range all {
		if adopted(p) && !p.zombie {
			o.before[Identity{PID: p.pid, StartMS: p.start()}], o.sessions[p.sid] = true, true
		}
	}
}

// ours returns the children of this process with their sessions, nil where the kernel does not report them. Each is
// that of one of our threads.
func ours() map[int]int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	found := map[int]int{}
	for _, t := range threads {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if errors.Is(err, fs.ErrNotExist) && t.Name() != strconv.Itoa(os.Getpid()) {
			continue // the thread has ended, and another has its children
		}
		if err != nil {
			return nil
		}
		for pid := range strings.FieldsSeq(string(b)) {
			n, err := strconv.Atoi(pid)
			if err != nil {
				return nil
			}
			session, err := unix.Getsid(n)
			if err != nil {
				return nil
			}
			found[n] = session
		}
	}
	return found
}

// tree returns the adopted processes that match and were not there before, with all that descend from them.
func (o *Orphans) tree(match func(info) bool) ([]Identity, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	in := map[int]bool{}
	for _, p := range all {
		in[p.pid] = adopted(p) && match(p) && !o.before[Identity{PID: p.pid, StartMS: p.start()}]
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && in[p.ppid] {
				in[p.pid], grown = true, true
			}
		}
	}
	return scan(func(p info) bool { return in[p.pid] && !p.zombie })
}

// adopted reports whether a process is a child of this one that it did not start itself. What it starts is in its own
// process group, or known.
func adopted(p info) bool {
	children.Lock()
	defer children.Unlock()
	return p.ppid == os.Getpid() && p.pgid != syscall.Getpgrp() && !children.own[p.pid]
}

// reap waits for the orphans that have ended, but not for the child spared. left reports whether this process
// may have children left, ended whether any was waited for, or may have been. Where none has ended, which is so
// nearly always, that takes one system call.
func reap(spared int) (left, ended bool) {
	var first unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &first, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.Is(err, unix.ECHILD) {
		return false, false
	}
	if err != nil || first.Signo == 0 {
		return true, err != nil
	}
	all, err := list()
	if err != nil {
		return true, true
	}
	for _, p := range all {
		if p.zombie && p.pid != spared && adopted(p) {
			var ws syscall.WaitStatus
			_, _ = syscall.Wait4(p.pid, &ws, syscall.WNOHANG, nil)
		}
	}
	return true, true
}
