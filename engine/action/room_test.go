package action

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"loops/fsm"
)

func TestRoomless(t *testing.T) {
	t.Parallel()
	for no, want := range map[syscall.Errno]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true, syscall.EIO: true, syscall.EROFS: true,
		syscall.EACCES: false, syscall.ENOTDIR: false, syscall.ENOENT: false, syscall.E2BIG: false,
	} {
		failed := fmt.Errorf("the script cannot be written: %w", &fs.PathError{Op: "write", Path: "f", Err: no})
		err := diskError(failed)
		if errors.Is(err, fsm.ErrDiskFull) != want || err.Error() != failed.Error() || !errors.Is(err, no) {
			t.Errorf("%v: %v, is ErrDiskFull: %v", no, err, !want)
		}
	}
	if err := diskError(nil); err != nil {
		t.Error(err)
	}
}
