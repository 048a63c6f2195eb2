package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// runtimeDescriptors is how many descriptors the Go runtime takes when a process first opens a pipe, with those
// of the pipe.
const runtimeDescriptors = 4

// CheckDescriptors returns an error if this process has so few descriptors left that the Go runtime would end
// it at one of the next files it opens. Otherwise the runtime has its own descriptors afterwards, and a file
// that cannot be opened later is an error of that file. It closes what it opened.
func CheckDescriptors() error {
	var held []int
	defer func() {
		for _, fd := range held {
			_ = syscall.Close(fd)
		}
	}()
	for len(held) < runtimeDescriptors {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if errors.Is(err, syscall.EMFILE) {
			return tooFewDescriptors()
		}
		if err != nil {
			return nil // what is wrong then says who needs it
		}
		held = append(held, fd)
	}
	for _, fd := range held {
		_ = syscall.Close(fd)
	}
	held = nil
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
	return nil
}

// tooFewDescriptors returns the error of a process that may not open enough files, with its limit.
func tooFewDescriptors() error {
	most := ""
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		most = fmt.Sprintf(" (it may have %d open at once)", limit.Cur)
	}
	return fmt.Errorf("too many open files: this process cannot open those that it needs%s. Nothing was done. Let "+
		"it open more files (ulimit -n 256), then try again", most)
}
