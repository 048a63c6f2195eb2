package action

import (
	"context"
	"errors"
	"syscall"
	"time"

	"loops/fsm"
	"loops/internal/process"
)

// scarceWaits are the waits between the tries to start an action.
var scarceWaits = []time.Duration{100 * time.Millisecond, 2 * time.Second}

// scarce reports whether an action was not started because the system lacked a process, memory or a descriptor.
// It is false for errors of actions that were started.
func scarce(err error) bool {
	if _, ran := errors.AsType[ranError](err); ran {
		return false
	}
	return process.Scarce(err)
}

// A scarceError keeps an action from being started, and is no fault of the loop.
type scarceError struct{ error }

func (e scarceError) Error() string {
	advice := ""
	if errors.Is(e.error, syscall.EMFILE) {
		advice = " (see ulimit -n)"
	}
	return e.error.Error() + advice + "; it was tried three times"
}

func (e scarceError) Unwrap() error        { return e.error }
func (e scarceError) Is(target error) bool { return target == fsm.ErrScarce }

// A ranError is the error of an action that was started. It reads like its cause.
type ranError struct{ error }

func (e ranError) Unwrap() error { return e.error }

// patiently calls start again, after a wait, while the system lacks what a start needs. After three tries its
// error is an [fsm.ErrScarce].
func patiently(ctx context.Context, start func() (fsm.Result, error)) (fsm.Result, error) {
	for n := 0; ; n++ {
		res, err := start()
		if !scarce(err) {
			return res, err
		}
		if n == len(scarceWaits) {
			return res, scarceError{err}
		}
		select {
		case <-time.After(scarceWaits[n]):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}
