package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"loops/fsm"
	"loops/internal/process"
)

// hopeless is how long after KILL a process may still be there: it hangs in the kernel or is another user's.
const hopeless = 5 * time.Second

// An ending is how far a job has come with ending its action before its time.
type ending struct {
	on     bool
	kind   string             // that of a Result.TimeoutKind, overdue, else ""
	termAt time.Time          // when TERM is due
	termed bool               // TERM was sent to the group and to all with the marker
	killAt time.Time          // when KILL is due
	next   time.Time          // when to look again
	pause  time.Duration      // between two looks
	told   map[int]bool       // pids that got TERM
	left   []process.Identity // those that the last look at all processes found
	lookAt time.Time          // until then no other process is looked at while one of left lives
	exited bool               // the first look after the exit of the action's process was taken
	killed bool               // KILL was sent
	done   bool               // nothing of the action is alive
}

const firstPause = 2 * time.Millisecond

// lookEvery is how long the processes that were asked to end are looked at alone. It takes microseconds; to find
// others that the action began meanwhile means to read about all processes, which takes milliseconds.
const lookEvery = 200 * time.Millisecond

// overdue is the kind of ending of a host that does not exit after its last event. Its group is ended, nothing else:
// what its tools left in the background stays, as if it had exited.
const overdue = "overdue"

// mustEnd reports whether the action has to be ended now, and begins with it.
func (j *job) mustEnd(ctx context.Context, ready bool) bool {
	kind := ""
	switch {
	case ctx.Err() != nil || j.r.forced.Load() || j.fault != nil:
	case j.exited:
		if !j.sweep {
			return false
		}
		j.sweep = false
		if len(j.survivors()) == 0 {
			return false
		}
	case j.talk.done():
		if j.now.Sub(j.talk.doneAt) < doneGrace {
			return false
		}
		kind = overdue
	case j.a.Timeout > 0 && j.ran() >= j.a.Timeout:
		kind = "wall"
	case j.talk.tooFast():
		kind = fsm.TimeoutVelocity
	case j.a.Idle > 0 && !ready && j.now.Sub(j.heard) >= j.a.Idle:
		kind = "idle"
	default:
		return false
	}
	if kind != "" && kind != overdue && j.gone() {
		return false
	}
	grace := cmp.Or(j.r.Grace, DefaultGrace)
	if s := &j.streams[1]; j.talk != nil { // what comes from here on is about the end
		j.got(s, s.mask.End())
	}
	j.ending = ending{on: true, kind: kind, termAt: j.now, killAt: j.now.Add(grace), told: map[int]bool{}}
	if j.r.forced.Load() {
		return true
	}
	if j.talk != nil && j.talk.host.Stop != 0 && !j.exited {
		// A host that is asked in its own way ends its tools and says what it used.
		_ = syscall.Kill(j.child.pid, j.talk.host.Stop)
		j.ending.termAt = j.now.Add(grace / stopShare)
		return true
	}
	j.term()
	return true
}

// reconsider reports whether an overdue host is to be ended with all it left behind after all.
func (j *job) reconsider(ctx context.Context) bool {
	return j.ending.kind == overdue && (ctx.Err() != nil || j.r.forced.Load() || j.fault != nil)
}

// stopShare is the part of the grace in which a host may end in its own way: one in so many.
const stopShare = 5

// term asks everything of the action to end.
func (j *job) term() {
	j.ending.termed = true
	j.signalGroup(syscall.SIGTERM)
	j.signalGroup(syscall.SIGCONT) // a stopped process sees TERM only when it continues
	if j.ending.kind == overdue {
		return
	}
	if marked, err := j.marked(); err == nil {
		j.tell(marked)
	}
}

// end continues to end the action, and reports whether nothing of it is alive.
func (j *job) end() bool {
	e := &j.ending
	if e.done {
		return true
	}
	if kill := j.r.forced.Load() || !j.now.Before(e.killAt); kill && !e.killed {
		e.killed, e.killAt, e.next, e.pause = true, j.now, j.now, firstPause
	}
	if !e.termed && !e.killed && (j.exited || !j.now.Before(e.termAt)) {
		j.term()
	}
	if j.exited && !e.exited {
		e.exited, e.next, e.pause = true, j.now, firstPause
	}
	if !e.exited && !e.killed {
		e.next = e.killAt // until then only the exit is of interest
		if !e.termed {
			e.next = e.termAt
		}
		return false
	}
	if j.now.Before(e.next) {
		return false
	}
	left := e.left
	if e.killed || !j.now.Before(e.lookAt) || !slices.ContainsFunc(left, lives) {
		left = j.survivors()
		e.left, e.lookAt = left, j.now.Add(lookEvery)
	}
	switch {
	case j.exited && len(left) == 0:
		j.ended()
		return true
	case !e.killed:
		j.tell(left)
	case j.now.Sub(e.killAt) > hopeless:
		j.fail(fmt.Errorf("cannot end all processes of state %q: %d of them still run", j.a.State, max(len(left), 1)))
		j.ended()
		return true
	default:
		if j.group != nil && e.kind != overdue {
			j.group.Kill()
		}
		j.signalGroup(syscall.SIGKILL)
		for _, id := range left {
			_ = id.Signal(syscall.SIGKILL)
		}
	}
	e.next = j.now.Add(e.pause)
	e.pause = min(2*e.pause, 50*time.Millisecond)
	if !e.killed && e.next.After(e.killAt) {
		e.next = e.killAt
	}
	return false
}

func lives(id process.Identity) bool {
	alive, _ := id.Alive()
	return alive
}

// ended is called when there is nothing more to end. The rest of the output gets the usual time from now on.
func (j *job) ended() {
	j.ending.done = true
	j.exitAt, j.sinceEnd = j.now, 0
}

// tell sends TERM to processes that did not get it yet. Members of the group did.
func (j *job) tell(ps []process.Identity) {
	for _, id := range ps {
		if j.ending.told[id.PID] {
			continue
		}
		j.ending.told[id.PID] = true
		if pgid, err := syscall.Getpgid(id.PID); err == nil && pgid == j.child.pid {
			continue
		}
		_ = id.Signal(syscall.SIGTERM)
		_ = id.Signal(syscall.SIGCONT)
	}
}

// signalGroup signals the action's process group. Its number is ours until the process is reaped.
func (j *job) signalGroup(sig syscall.Signal) {
	if !j.child.reaped {
		_ = syscall.Kill(-j.child.pid, sig)
	}
}

// survivors returns the live processes of the action other than its first one.
func (j *job) survivors() []process.Identity {
	group, err1 := process.Group(j.child.pid)
	var marked, adopted []process.Identity
	var err2, err3 error
	if j.ending.kind != overdue {
		marked, err2 = j.marked()
		adopted, err3 = j.adopted()
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		j.fail(fmt.Errorf("the processes of state %q cannot be listed: %w", j.a.State, err))
	}
	return slices.Concat(group, marked, adopted)
}

func (j *job) marked() ([]process.Identity, error) {
	return process.Marked(Variable, j.r.marker(j.a))
}
