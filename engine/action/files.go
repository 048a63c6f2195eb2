package action

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"loops/internal/disk"
)

// Files is the project as evaluators see it: relative names are relative to Dir, or to the current directory
// where Dir is empty. It implements fsm.Files and is safe for concurrent use.
type Files struct {
	Dir string
	// an error if Dir is not any more what it was: then a file that is missing proves nothing, and none is
	// written; nil: it is
	There func() error
}

// missing is the error of what could not be found, unless Dir is not there.
func (f Files) missing(err error) error {
	if f.There != nil && errors.Is(err, fs.ErrNotExist) {
		if gone := f.There(); gone != nil {
			return gone
		}
	}
	return err
}

func (f Files) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.Dir, name)
}

// mostRead is how long a file may be that is read whole.
const mostRead = 64 << 20

// ReadFile returns the content of a regular file of at most 64 MiB. Anything else is refused: a FIFO or a device
// could keep its reader waiting for ever.
func (f Files) ReadFile(name string) ([]byte, error) {
	path := f.path(name)
	refuse := func(format string, args ...any) error {
		return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf(format, args...)}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is opened without waiting for a writer
	if err != nil {
		if st, e := os.Stat(path); e == nil && st.Mode()&fs.ModeSocket != 0 { // these cannot even be opened
			return nil, refuse("%s, not a regular file", kind(st.Mode()))
		}
		return nil, f.missing(err)
	}
	defer func() { _ = file.Close() }()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, refuse("%s, not a regular file", kind(st.Mode()))
	case st.Size() > mostRead:
		return nil, refuse("too long to be read whole: %d bytes, and %d MiB at most", st.Size(), mostRead>>20)
	}
	b := bytes.NewBuffer(make([]byte, 0, st.Size()+bytes.MinRead))
	// It may grow while it is read, and some files of the system have no size.
	if _, err := b.ReadFrom(io.LimitReader(file, mostRead+1)); err != nil {
		return nil, err
	}
	if b.Len() > mostRead {
		return nil, refuse("too long to be read whole: more than %d MiB", mostRead>>20)
	}
	return b.Bytes(), nil
}

// kind names what is not a regular file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// Stat returns when a file was last changed and how long it is.
func (f Files) Stat(name string) (modTime time.Time, size int64, err error) {
	st, err := os.Stat(f.path(name))
	if err != nil {
		return time.Time{}, 0, f.missing(err)
	}
	return st.ModTime(), st.Size(), nil
}

// WriteFile replaces a file, whole or not at all as far as other processes can see, and creates the folders it
// is in. It is not synced: it survives this process, but perhaps not a loss of power.
func (f Files) WriteFile(name string, data []byte) error {
	return f.Write(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write is WriteFile of what content writes. An error of content leaves everything as it was.
func (f Files) Write(name string, content func(io.Writer) error) error {
	if f.There != nil {
		if err := f.There(); err != nil {
			return err
		}
	}
	path := f.path(name)
	if err := disk.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return diskError(err)
	}
	_, err := disk.Replace(path, content, mode(path), nil)
	return diskError(err)
}

// mode is the mode of the file that is replaced, or that of an ordinary new one.
func mode(path string) os.FileMode {
	if st, err := os.Stat(path); err == nil {
		return st.Mode().Perm()
	}
	return 0o644
}
