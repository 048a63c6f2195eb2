package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// renameChecked is RenameNew where the system cannot do it in one step. A rename onto a folder that has files
// in it fails by itself, so only an empty folder could be lost.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	err := os.Rename(from, to)
	if err != nil {
		if _, e := os.Lstat(to); e == nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
		}
	}
	return err
}

// Unlinked reports whether an open file has no name any more, so that what is written to it is lost.
func Unlinked(f *os.File) bool {
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// SameContent reports whether two files are one or hold the same bytes; prefix allows b to continue after the end of a.
func SameContent(a, b string, prefix bool) bool {
	sa, err := os.Lstat(a)
	if err != nil {
		return false
	}
	sb, err := os.Lstat(b)
	if err != nil {
		return false
	}
	if os.SameFile(sa, sb) {
		return true
	}
	if sa.Size() > sb.Size() || !prefix && sa.Size() != sb.Size() {
		return false
	}
	fa, err := Open(a, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer fa.Close()
	fb, err := Open(b, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer fb.Close()
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(fa, x)
		if n > 0 {
			if m, _ := io.ReadFull(fb, y[:n]); m != n || string(x[:n]) != string(y[:n]) {
				return false
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// Remove removes files; those that are not there are no error.
func Remove(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := syscall.Unlink(p); err == nil || err == syscall.ENOENT {
			continue // os.Remove would try again what is not there, as a folder
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Exists reports whether there is anything under a path; a link counts as itself.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
