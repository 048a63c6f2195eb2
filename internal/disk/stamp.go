package disk

import (
	"errors"
	"os"
	"syscall"
)

// A Stamp shows whether a file or a folder is unchanged. A change to it, or to the names in a folder, gives it another
// one, if the clock of its file system had advanced since the last change; no program can set Changed.
type Stamp struct {
	Dev, Ino          uint64
	Size              int64
	Modified, Changed int64 // nanoseconds since the epoch, by the clock of the file system
}

// StampOf returns the stamp of what has a path, and whether it is a regular file. ok is false where there is nothing,
// or the system has no such information.
func StampOf(path string) (s Stamp, regular, ok bool) {
	var st syscall.Stat_t
	if retried(func() error { return syscall.Lstat(path, &st) }) != nil {
		return s, false, false
	}
	s, ok = stampOf(&st)
	return s, st.Mode&syscall.S_IFMT == syscall.S_IFREG, ok
}

// FolderStamp returns the stamp of a folder, or of the one that a link leads to.
func FolderStamp(path string) (s Stamp, ok bool) {
	var st syscall.Stat_t
	if retried(func() error { return syscall.Stat(path, &st) }) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return s, false
	}
	return stampOf(&st)
}

// StampOfFile returns the stamp of an open file.
func StampOfFile(f *os.File) (s Stamp, err error) {
	var st syscall.Stat_t
	if err := retried(func() error { return syscall.Fstat(int(f.Fd()), &st) }); err != nil {
		return s, err
	}
	s, ok := stampOf(&st)
	if !ok {
		err = errors.ErrUnsupported
	}
	return s, err
}
