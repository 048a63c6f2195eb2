package process

import (
	"errors"
	"syscall"
)

// Scarce reports whether an error says that the system has no process, memory or descriptor left for now.
func Scarce(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) ||
		errors.Is(err, syscall.ENFILE)
}
