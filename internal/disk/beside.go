package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// besidePrefix begins the names of files that become others when they are whole.
const besidePrefix = ".loops-"

// CreateBeside makes a file beside the one at path that it is to become: renamed when it is whole, or else
// removed. Its lock says that a live process writes it. What commands that were killed left in the folder is
// removed.
func CreateBeside(path string) (*os.File, error) {
	folder := filepath.Dir(path)
	TidyBeside(folder)
	for {
		f, err := CreateTemp(folder, besidePrefix+"*")
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(&os.PathError{Op: "flock", Path: f.Name(), Err: err}, f.Close(),
				os.Remove(f.Name()))
		}
		if _, gone := os.Lstat(f.Name()); err == nil && gone == nil {
			return f, nil
		}
		_ = f.Close() // another one took it for dead between our two calls
	}
}

// TidyBeside removes what commands that were killed left in a folder.
func TidyBeside(folder string) {
	old, _ := filepath.Glob(filepath.Join(quoteGlob(folder), besidePrefix+"*"))
	for _, name := range old {
		if f := lockRegular(name); f != nil {
			_ = os.Remove(name)
			_ = f.Close()
		}
	}
}

// lockRegular takes the lock of a regular file; nil where there is none, or another process has it.
func lockRegular(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() ||
		syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// quoteGlob is a path that matches itself only.
func quoteGlob(path string) string {
	var b []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}

// LinkNew gives a file that is whole its name, unless another one has it: then the error is fs.ErrExist.
func LinkNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, e := os.Lstat(to); e == nil { // the file system has no second names
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// WriteWhole writes the file at path, which is there whole or not at all. A pipe or a device that is there is
// written to and not replaced.
func WriteWhole(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return errors.New("it is a folder")
		}
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = write(w)
		if shut := w.Close(); err == nil {
			err = shut
		}
		return err
	}
	tmp, err := CreateBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it was renamed, or is of no use
	err = write(tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if shut := tmp.Close(); err == nil {
		err = shut
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}
