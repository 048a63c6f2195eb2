package action

import (
	"time"

	"golang.org/x/sys/unix"
)

// A machine, a container or a process that is suspended stops in the middle of a poll, which then takes longer
// than was asked for.
const (
	pollMost      = 2 * time.Second        // of one poll, so that it is known how long it should have taken
	suspendedFrom = 500 * time.Millisecond // too late by less is a busy machine
)

// awake takes the time for which this process was suspended during a poll out of all limits. It is called with
// the time before the poll and how long that was to take.
func (j *job) awake(before time.Time, patience int) {
	if patience < 0 {
		return
	}
	// Nobody knows when in the poll the suspension began, so all of it is taken: an action gets too much time
	// rather than too little.
	gap := j.now.Sub(before)
	if gap-time.Duration(patience)*time.Millisecond < suspendedFrom {
		return
	}
	j.suspended += gap
	j.heard = j.heard.Add(gap)
	if j.exited {
		j.exitAt = j.exitAt.Add(gap)
	}
	if j.talk.done() {
		j.talk.doneAt = j.talk.doneAt.Add(gap)
	}
	if e := &j.ending; e.on {
		e.termAt, e.killAt, e.next = e.termAt.Add(gap), e.killAt.Add(gap), e.next.Add(gap)
	}
}

// ran is how long the action ran while this process was not suspended.
func (j *job) ran() time.Duration { return j.now.Sub(j.began) - j.suspended }

// gone looks whether the process of the action has exited meanwhile: a poll that a signal interrupted does not say so.
func (j *job) gone() bool {
	if j.exited {
		return true
	}
	fds := [1]unix.PollFd{{Fd: int32(j.child.watch), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds[:], 0); err != nil || n == 0 {
		fds[0].Revents = 0
	}
	if j.child.exited(fds[0].Revents != 0) {
		j.exited, j.exitAt = true, j.now
	}
	return j.exited
}
