package persistence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loops/fsm"
)

// renameChecked is renameNew where the system cannot do it in one step. A rename onto a folder that has files
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

// removed says whether an open file has no name any more, so that what is written to it is lost.
func removed(f *os.File) bool {
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// Moved returns an [fsm.ErrMoved] that says where the open file with this descriptor is now, where the system tells.
func Moved(fd uintptr) error {
	to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || strings.HasSuffix(to, " (deleted)") { // another of its names was removed
		return fsm.ErrMoved
	}
	return fmt.Errorf("%w to %s", fsm.ErrMoved, to)
}

// linkOrCopy gives a file a second name, or a copy where the file system has no second names.
func (d *Dir) linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := OpenRecord(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := OpenRecord(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = d.syncFile(out)
	}
	return errors.Join(err, out.Close())
}

// sameContent says whether two files are one or hold the same bytes; prefix allows b to go on after the end of a.
func sameContent(a, b string, prefix bool) bool {
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
	fa, err := OpenRecord(a, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer fa.Close()
	fb, err := OpenRecord(b, os.O_RDONLY)
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

// removeAll removes files; those that are not there are no error.
func removeAll(paths ...string) error {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mostLinks is how many symlinks realPath follows; the system follows 40.
const mostLinks = 40

// realPath is the absolute path that the system would come to, also where a symlink leads to what does not exist yet. What
// does not exist, or goes in circles, is taken as it is written.
func realPath(path string) string {
	if !filepath.IsAbs(path) {
		if wd, err := os.Getwd(); err == nil {
			path = wd + "/" + path
		}
	}
	at, todo := "/", strings.Split(path, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil || links == mostLinks {
			at = next
			continue
		}
		links++
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at
}
