// Package disk is how files of records are opened, locked, made durable, moved and removed: a file is a regular
// file, under that very name, and for its user alone. A link is not followed, and no process waits at a named
// pipe. Errors name the path. Functions may be called by any goroutine at once.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// What runs record is for their user alone: memory holds what actions printed and were given, secrets among it. Umask
// may take more away. Folders and files that are there keep the mode they have.
const (
	FileMode   fs.FileMode = 0o600
	FolderMode fs.FileMode = 0o700
)

// MaxRead is the length from which a file cannot be one that is read in one piece. The largest text that an action
// leaves is far below.
const MaxRead = 1 << 30

// ErrNotRegular means that something else than a regular file is instead of one.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a file that belongs to the record of a run or of a project, as os.OpenFile does. It is a regular file
// of that very name: a symbolic link is not followed, so nothing outside of the record is read or written, and a named
// pipe or a device is an error at once. A file that is made is for its user alone.
func Open(path string, flag int) (*os.File, error) {
	f, _, err := OpenStat(path, flag)
	return f, err
}

// OpenPrivate is Open of a file that more is added to: one that others may read, as earlier versions made them, is
// theirs no longer.
func OpenPrivate(path string, flag int) (*os.File, error) {
	f, st, err := OpenStat(path, flag)
	if err == nil && st.Mode().Perm()&^FileMode != 0 {
		_ = f.Chmod(FileMode) // of another user's file, in a folder that two share, the mode stays
	}
	return f, err
}

// OpenStat is Open with what the file was when it was opened.
func OpenStat(path string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := OpenFile(path, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, FileMode)
	if err != nil {
		return nil, nil, NotOpened(path, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = notRegular(path, st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// NotOpened is the error of a file that cannot be opened. The system has a different one for each kind of thing that is
// no regular file, and none of them says what it is.
func NotOpened(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if st, e := os.Lstat(path); e == nil && !st.Mode().IsRegular() {
		return notRegular(path, st.Mode())
	}
	return err
}

func notRegular(path string, mode fs.FileMode) error {
	kind := "a device"
	switch {
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w but %s", ErrNotRegular, kind)}
}

// Read reads a file up to where it ended when it was opened, as [Open] opens it.
func Read(path string) ([]byte, error) {
	b, _, err := ReadStamped(path)
	return b, err
}

// ReadStamped is [Read] with the stamp that the file had when it was opened.
func ReadStamped(path string) (b []byte, s Stamp, err error) {
	var st syscall.Stat_t
	b, _, err = readAll(path, &st, noProbe)
	if err == nil {
		s, _ = stampOf(&st)
	}
	return b, s, err
}

// ReadLock reads a lock file, as [Read] does, and reports whether a live process holds flock on it, as [Held]
// does. With heldOnly a file that no process holds is not read, and b is nil.
func ReadLock(path string, heldOnly bool) (b []byte, held bool, err error) {
	var st syscall.Stat_t
	probe := probeToo
	if heldOnly {
		probe = probeFirst
	}
	return readAll(path, &st, probe)
}

// How readAll looks at the flock of a file.
type probing int

const (
	noProbe    probing = iota
	probeToo           // and reads the file in any case
	probeFirst         // and reads the file if it is held
)

// readAll reads a file, and reports whether its flock is held if it is to probe that. A list of runs reads
// thousands of files, and each call of the system counts there: the package os would ask for every one whether
// it can be waited for.
func readAll(path string, st *syscall.Stat_t, probe probing) (b []byte, held bool, err error) {
	fd, err := openRaw(path, st)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Size > MaxRead {
		if err == nil {
			_ = syscall.Close(fd)
		}
		return nil, false, notRead(path, err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	if probe != noProbe {
		held = heldBy(fd)
	}
	if probe == probeFirst && !held {
		return nil, false, nil
	}
	b = make([]byte, st.Size)
	for n := 0; ; {
		var m int
		err := retried(func() (err error) { m, err = syscall.Read(fd, b[n:]); return err })
		if err != nil {
			return b[:n], held, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n += m; m == 0 || n == len(b) { // with 0 it was made shorter since
			return b[:n], held, nil
		}
	}
}

// openRaw opens a file to be read, as [Open] does, whatever it is.
func openRaw(path string, st *syscall.Stat_t) (fd int, err error) {
	err = retried(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|
			syscall.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err = retried(func() error { return syscall.Fstat(fd, st) }); err != nil {
		_ = syscall.Close(fd)
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return fd, nil
}

// retried calls f again as long as a signal interrupts it.
func retried(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// notRead is the error of a file that cannot be read in one piece. err is that of opening it, if there was one.
func notRead(path string, err error) error {
	f, st, again := OpenStat(path, os.O_RDONLY)
	if again != nil {
		return again
	}
	defer f.Close()
	if err == nil {
		err = fmt.Errorf("it has %d bytes, more than any such file is given", st.Size())
	}
	return &os.PathError{Op: "read", Path: path, Err: err}
}

// Write makes a file hold exactly these bytes.
func Write(path string, data []byte) error {
	f, err := Open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Rewrite makes a file hold exactly these bytes, in the blocks it has. What is in its place and cannot be written to
// is removed, if nothing is in it.
func Rewrite(path string, b []byte) error {
	f, err := Open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil && os.Remove(path) == nil {
		f, err = Open(path, os.O_WRONLY|os.O_CREATE)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	return errors.Join(err, f.Close())
}

// OpenFolder opens a folder to read its names or to make them durable. Anything else in its place is an error at once.
func OpenFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// OpenRealFolder is OpenFolder without following a link in its place.
func OpenRealFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

// MakeFolder makes a folder for records and those between it and loops, the .loops folder of a project, for their user
// alone. The .loops folder itself holds the loops of the project, too: if it is not there, it is made as any folder is.
func MakeFolder(loops, path string) error {
	err := Mkdir(path, FolderMode)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := MkdirAll(loops, 0o755); err != nil {
			return err
		}
	}
	return MkdirAll(path, FolderMode)
}

// MakeWork makes the working folder of a run in the folder of them all, unless it is there. It lies there: a
// link in its place, which could lead anywhere, is an error.
func MakeWork(runs, path string) error {
	if err := RealFolder(path); err != nil {
		return err
	}
	return MakeFolder(filepath.Dir(runs), path)
}

// RealFolder makes sure that what lies in a folder of a run lies there: it is not a link that leads to another place. A
// folder that is not there is no error.
func RealFolder(path string) error {
	st, err := os.Lstat(path)
	if err == nil && !st.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("not a directory")}
		if st.Mode()&fs.ModeSymlink != 0 {
			err = &os.PathError{
				Op: "open", Path: path,
				Err: errors.New("a symbolic link, which is not followed, and not a directory"),
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// IsRegular reports whether a path is that of a regular file, and its length.
func IsRegular(path string) (size int64, ok bool) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0, false
	}
	return st.Size(), true
}
