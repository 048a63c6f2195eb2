package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"loops/internal/disk"
)

// A stateFile writes state.json beside the journal. It keeps the folder of the journal open: so nothing is ever
// written to what is at the old path when the project was moved, and no path is walked for each state.
type stateFile struct {
	folder *os.File // nil: it could not be opened
	path   string   // of state.json, for messages
}

// openStateFile opens the folder of a journal. journal is what the system says of the open journal: a folder
// that does not hold it under its name is another one.
func openStateFile(files livePaths, journal *syscall.Stat_t) stateFile {
	s := stateFile{path: files.state}
	folder, err := disk.OpenFolder(filepath.Dir(files.events))
	if err != nil {
		return s
	}
	var st unix.Stat_t
	err = unix.Fstatat(int(folder.Fd()), filepath.Base(files.events), &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Ino != journal.Ino || uint64(st.Dev) != uint64(journal.Dev) { //nolint:unconvert // differs between systems
		_ = folder.Close() // nothing was written
		return s
	}
	s.folder = folder
	return s
}

func (s *stateFile) close() {
	if s.folder != nil {
		_ = s.folder.Close() // nothing was written
		s.folder = nil
	}
}

// replace makes state.json hold exactly these bytes. They are written to the other file of the two, in the
// blocks it has, and then the names change places.
func (s *stateFile) replace(b []byte) error {
	if s.folder == nil {
		return &os.PathError{Op: "open", Path: filepath.Dir(s.path), Err: errors.New("the folder cannot be opened")}
	}
	dir, name := int(s.folder.Fd()), filepath.Base(s.path)
	tmp := name + ".tmp"
	if err := s.write(dir, tmp, b); err != nil {
		return err
	}
	if err := disk.SwapAt(dir, tmp, name); err != nil {
		return &os.LinkError{Op: "rename", Old: s.path + ".tmp", New: s.path, Err: err}
	}
	return nil
}

// write makes a file of the folder hold exactly these bytes. What is in its place and cannot be written to is removed,
// if nothing is in it.
func (s *stateFile) write(dir int, name string, b []byte) error {
	path := filepath.Join(filepath.Dir(s.path), name)
	fd, size, err := openRecordAt(dir, name)
	if err != nil && (unix.Unlinkat(dir, name, 0) == nil || unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) == nil) {
		fd, size, err = openRecordAt(dir, name)
	}
	if err != nil {
		return disk.NotOpened(path, &os.PathError{Op: "open", Path: path, Err: err})
	}
	op := "write"
	for at := 0; at < len(b) && err == nil; {
		var n int
		n, err = unix.Pwrite(fd, b[at:], int64(at))
		if errors.Is(err, unix.EINTR) {
			err = nil
		} else if err == nil && n == 0 {
			err = unix.EIO
		}
		at += max(n, 0)
	}
	if err == nil && size > int64(len(b)) {
		op, err = "truncate", uninterrupted(func() error { return unix.Ftruncate(fd, int64(len(b))) })
	}
	if closed := unix.Close(fd); err == nil && closed != nil && !errors.Is(closed, unix.EINTR) {
		op, err = "close", closed
	}
	if err != nil {
		return &os.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// openRecordAt is [disk.Open] of a file to write in an open folder. It returns the size as well: ext4 works through the
// blocks of a file that is truncated to the size it has, and the next sync has that to write.
func openRecordAt(dir int, name string) (fd int, size int64, err error) {
	err = uninterrupted(func() error {
		fd, err = disk.CreateAt(dir, name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC)
		return err
	})
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = disk.ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd) // nothing was written
		return -1, 0, err
	}
	return fd, st.Size, nil
}

// uninterrupted makes a call of the system again for as long as a signal cuts it short.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
