package action

import (
	"errors"
	"slices"
	"syscall"

	"loops/fsm"
)

// noRoom is what the system says where the disk is full, over a quota or a limit, broken, or read-only since it broke.
var noRoom = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS}

// A noRoomError is a failed write that is no fault of the loop. It reads like what it is about.
type noRoomError struct{ error }

func (e noRoomError) Unwrap() error        { return e.error }
func (e noRoomError) Is(target error) bool { return target == fsm.ErrNoRoom }

// roomless makes an error [fsm.ErrNoRoom] if it is about the disk.
func roomless(err error) error {
	if slices.ContainsFunc(noRoom, func(no syscall.Errno) bool { return errors.Is(err, no) }) {
		return noRoomError{err}
	}
	return err
}
