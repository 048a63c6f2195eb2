package main_test

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loops/internal/testenv"
)

// nextSecond waits until the clock shows another second: the id of a run has the second of its start.
func nextSecond(t testing.TB) {
	t.Helper()
	second := time.Now().Unix()
	testenv.Wait(t, "the next second", func() bool { return time.Now().Unix() > second })
}

// isFull reports whether a pipe or a terminal takes nothing more from its writers.
func isFull(t testing.TB, f *os.File) bool {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, 0)
	return n == 0 && err == nil
}
