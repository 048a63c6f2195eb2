package testenv

import (
	"errors"
	"syscall"
	"time"
)

// Moment rests until the ith of the moments, counted from 0, at which a test kills a process that is at work:
// 300 µs times i², so that the first ones are close together. What the test expects must hold whatever the
// process was doing.
func Moment(i int) { time.Sleep(time.Duration(i*i) * 300 * time.Microsecond) }

// LetRun lets the process pid, which was stopped, run for about a millisecond, in which it ends the write in
// whose middle it was stopped: nothing shows from outside when that is over. Whoever needs the end of the write
// calls it until what it waits for holds.
func LetRun(pid int) error {
	err := syscall.Kill(pid, syscall.SIGCONT)
	time.Sleep(time.Millisecond)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
}
