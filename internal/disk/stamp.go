package disk

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// StampBelow returns the stamp of what has a name in an open folder, and its mode as the system has it. ok is
// false where there is nothing.
func StampBelow(folder int, name string) (s Stamp, mode uint32, ok bool) {
	var st unix.Stat_t
	if retried(func() error { return unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW) }) != nil {
		return s, 0, false
	}
	//nolint:unconvert // sizes differ between machines
	return Stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, uint32(st.Mode), true
}

// FolderStamp returns the stamp of a folder, or of the one that a link leads to.
func FolderStamp(path string) (s Stamp, ok bool) {
	var st syscall.Stat_t
	if retried(func() error { return syscall.Stat(path, &st) }) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return s, false
	}
	return stampOf(&st)
}

// inWrite is how long a writer of this program may take, however busy the machine is, before its file is whole.
const inWrite = time.Second

// Whole reports that what was read of a file with this stamp is not in the middle of a write: the file has the
// same stamp now, and has had it for a second. So if it is damaged, another look finds the same.
func (s Stamp) Whole(path string) bool {
	now, _, ok := StampOf(path)
	return ok && now == s && s.Rested()
}

// Rested reports whether nothing has changed for a second.
func (s Stamp) Rested() bool { return time.Since(time.Unix(0, s.Changed)) > inWrite }

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
