package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of all that descends from it when its own parents end. That is a property of
// the whole process: only a program may ask for it, and it has to call [Orphans.Reap] from time to time.
func AdoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Orphans tells the processes that this one has adopted since an action began from those it had before. It is for one action at a
// time.
type Orphans struct {
	before   map[Identity]bool
	sessions map[int]bool // of those
}

// Since returns the live processes that were adopted since the child first started, and all that descend from them. first must
// not have been waited for.
func (o *Orphans) Since(first int) ([]Identity, error) {
	child, err := look(first)
	if err != nil {
		return nil, err
	}
	return o.tree(func(p info) bool { return p.pid != first && p.upMS >= child.upMS && !o.sessions[p.sid] })
}

// Reap waits for orphans that have ended, and for no other child of this process: first is that of the action that is
// running, whose exit code and process group are still needed when it has ended.
func (*Orphans) Reap(first int) { reap(first) }

// Settle is told when an action is over and its first process was waited for: what has been adopted by now and is running still is not of
// the next one.
func (o *Orphans) Settle() {
	o.before, o.sessions = nil, nil
	if !reap(0) {
		return
	}
	all, err := list()
	if err != nil {
		return
	}
	o.before, o.sessions = map[Identity]bool{}, map[int]bool{}
	for _, p := range all {
		if adopted(p) && !p.zombie {
			o.before[Identity{PID: p.pid, StartMS: p.start()}], o.sessions[p.sid] = true, true
		}
	}
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

// reap waits for the orphans that have ended, but not for the child spared, and reports whether this process may have
// children left. Where none has ended, which is so nearly always, that takes one system call.
func reap(spared int) bool {
	var ended unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.Is(err, unix.ECHILD) {
		return false
	}
	if err != nil || ended.Signo == 0 {
		return true
	}
	all, err := list()
	if err != nil {
		return true
	}
	for _, p := range all {
		if p.zombie && p.pid != spared && adopted(p) {
			var ws syscall.WaitStatus
			_, _ = syscall.Wait4(p.pid, &ws, syscall.WNOHANG, nil)
		}
	}
	return true
}
