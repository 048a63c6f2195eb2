package action

import (
	"errors"
	"slices"
	"syscall"

	"loops/fsm"
)

// diskFull is what the system says where the disk is full, over a quota or a limit, broken, or read-only since
// it broke.
var diskFull = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS}

// A diskFullError is a failed write that is no fault of the loop. It reads like what it is about.
type diskFullError struct{ error }

func (e diskFullError) Unwrap() error        { return e.error }
func (e diskFullError) Is(target error) bool { return target == fsm.ErrDiskFull }

// diskError makes an error [fsm.ErrDiskFull] if it is about the disk.
func diskError(err error) error {
	if slices.ContainsFunc(diskFull, func(no syscall.Errno) bool { return errors.Is(err, no) }) {
		return diskFullError{err}
	}
	return err
}
