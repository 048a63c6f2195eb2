package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files and folders that root makes in a folder of another user belong to that user: root may send a command to
// a run, or carry one, in a user's project (sudo, a service, a container with a mounted project), and the
// user's runner must be able to read what it left. The functions below do as those of the package os, and give
// what they made to the owner of the folder that it is in. What was there keeps its owner: a user could have
// put a file of root in its place. For other users than root they are those of os.

// OpenFile is [os.OpenFile].
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 || os.Geteuid() != 0 {
		return os.OpenFile(path, flag, mode)
	}
	for range 10 { // another process may make or remove it between two calls
		if flag&os.O_EXCL == 0 {
			if f, err := os.OpenFile(path, flag&^os.O_CREATE, mode); !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
		f, err := os.OpenFile(path, flag|os.O_EXCL, mode)
		if err == nil {
			give(f, filepath.Dir(path))
		}
		if err == nil || flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return os.OpenFile(path, flag, mode)
}

// WriteFile is [os.WriteFile].
func WriteFile(path string, b []byte, mode fs.FileMode) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// CreateTemp is [os.CreateTemp].
func CreateTemp(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err == nil && os.Geteuid() == 0 {
		give(f, filepath.Dir(f.Name()))
	}
	return f, err
}

// Mkdir is [os.Mkdir].
func Mkdir(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if err == nil && os.Geteuid() == 0 {
		giveFolder(path)
	}
	return err
}

// MkdirTemp is [os.MkdirTemp].
func MkdirTemp(dir, pattern string) (string, error) {
	path, err := os.MkdirTemp(dir, pattern)
	if err == nil && os.Geteuid() == 0 {
		giveFolder(path)
	}
	return path, err
}

// MkdirAll is [os.MkdirAll].
func MkdirAll(path string, mode fs.FileMode) error {
	if os.Geteuid() != 0 {
		return os.MkdirAll(path, mode)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(path, mode)
	}
	path = filepath.Clean(path)
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := Mkdir(path, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.MkdirAll(path, mode) // another process made it, or it is no folder
}

// CreateAt opens a file of an open folder, or makes it with [FileMode], as openat does.
func CreateAt(dir int, name string, flag int) (fd int, err error) {
	if os.Geteuid() == 0 {
		if fd, err = unix.Openat(dir, name, flag, 0); !errors.Is(err, fs.ErrNotExist) {
			return fd, err
		}
		fd, err = unix.Openat(dir, name, flag|unix.O_CREAT|unix.O_EXCL, uint32(FileMode))
		var of unix.Stat_t
		if err == nil && unix.Fstat(dir, &of) == nil && of.Uid != 0 {
			_ = unix.Fchown(fd, int(of.Uid), int(of.Gid)) // as give does
		}
		if !errors.Is(err, fs.ErrExist) {
			return fd, err
		}
	}
	return unix.Openat(dir, name, flag|unix.O_CREAT, uint32(FileMode))
}

// give makes the owner of a folder that of a file that root made in it. Where the file system does not let root
// do that, the file stays root's, and who sends a command looks whether it can be read.
func give(f *os.File, folder string) {
	of, err := os.Stat(folder)
	if err != nil {
		return
	}
	if uid, gid, ok := ownerOf(of); ok && uid != 0 {
		_ = f.Chown(uid, gid) // see above
	}
}

func giveFolder(path string) {
	f, err := OpenRealFolder(path)
	if err != nil {
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		if uid, _, ok := ownerOf(st); ok && uid == 0 {
			give(f, filepath.Dir(strings.TrimRight(path, "/")))
		}
	}
}

func ownerOf(st fs.FileInfo) (uid, gid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(sys.Uid), int(sys.Gid), true
}

// Reads reports whether the user uid can read a file by its owner and its mode. The groups of that user are not
// known: a file that only a group can read counts as one that cannot be read.
func Reads(st fs.FileInfo, uid int) bool {
	of, _, ok := ownerOf(st)
	return !ok || uid == 0 || of == uid && st.Mode().Perm()&0o400 != 0 || of != uid && st.Mode().Perm()&0o004 != 0
}

// Owner returns the user whose file or folder it is; false = it is not known.
func Owner(path string) (uid int, ok bool) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	uid, _, ok = ownerOf(st)
	return uid, ok
}

// Readable reports whether a path is that of a regular file that this process can read.
func Readable(path string) bool {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}
