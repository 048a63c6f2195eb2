package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var errNotRegular = errors.New("not a regular file")

// openRegular opens a file as os.OpenFile does, if it is a regular file of that very name. A symbolic link is
// not followed, so nothing elsewhere is read or written, and a named pipe or a device is an error at once and
// not waited for.
func openRegular(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, mode)
	if err != nil {
		if st, e := os.Lstat(path); e == nil && !st.Mode().IsRegular() {
			return nil, notRegular(path, st.Mode())
		}
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = notRegular(path, st.Mode())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// readRegular reads a file that openRegular opens.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(f)
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
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w but %s", errNotRegular, kind)}
}
