package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrBusy means that another process has held a lock for long. Nothing was changed.
var ErrBusy = errors.New("another process does not let go of this lock")

// Flock locks or unlocks an open file, as flock does.
func Flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// WhileLocked runs f while it has the flock of a file, which it makes if need be. It gives up with [ErrBusy].
func WhileLocked(ctx context.Context, path string, patience time.Duration, f func() error) error {
	g, err := Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer Release(g) //nolint:errcheck // nothing was written
	giveUp := time.Now().Add(patience)
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		err := Flock(g, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return &os.PathError{Op: "flock", Path: g.Name(), Err: err}
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("%s: %w", g.Name(), ErrBusy)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", g.Name(), context.Cause(ctx))
		}
	}
}

// Release unlocks a file and closes it. To close it is not enough: a process that is being started has a copy of each
// open file for a moment.
func Release(f *os.File) error {
	return errors.Join(Flock(f, syscall.LOCK_UN), f.Close())
}

// Held reports whether a live process holds flock on a lock file. Probing takes a shared lock for a moment.
func Held(path string) bool {
	var st syscall.Stat_t
	fd, err := openRaw(path, &st)
	if err != nil {
		return false
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	return st.Mode&syscall.S_IFMT == syscall.S_IFREG && heldBy(fd)
}

// heldBy reports whether another open file holds the flock of the file of fd.
func heldBy(fd int) bool {
	return errors.Is(retried(func() error { return syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB) }),
		syscall.EWOULDBLOCK)
}

// Names returns the names in a folder, none if it is not there.
func Names(dir string) (names []string, err error) {
	err = EachName(dir, func(name string) { names = append(names, name) })
	return names, err
}

// RealNames is Names of a folder in whose place a link is an error.
func RealNames(dir string) (names []string, err error) {
	err = eachNameIn(OpenRealFolder, dir, func(name string) { names = append(names, name) })
	return names, err
}

// EachName calls f with the names in a folder as they come: an archive may have a hundred thousand.
func EachName(dir string, f func(name string)) error { return eachNameIn(OpenFolder, dir, f) }

func eachNameIn(open func(string) (*os.File, error), dir string, f func(name string)) error {
	file, err := open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		names, err := file.Readdirnames(1024)
		for _, name := range names {
			f(name)
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}
