package disk

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// Changes know which files of a folder may have changed, without a look at each. They belong to one goroutine.
type Changes struct {
	events *os.File // of inotify; nil: nothing is known any more
	buf    []byte
	folder string
	first  os.FileInfo // the folder as it was
}

// ChangesOf returns the changes in a folder from now on; nil where the system cannot tell, or the user has too many
// watches. Writes of other machines, and those through another name of a file, are not seen.
func ChangesOf(folder string) *Changes {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	const events = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVE |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	if _, err := unix.InotifyAddWatch(fd, folder, events|unix.IN_ONLYDIR); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	c := &Changes{events: os.NewFile(uintptr(fd), "inotify"), buf: make([]byte, 16<<10), folder: folder}
	if c.first, err = os.Stat(folder); err != nil {
		c.Close()
		return nil
	}
	return c
}

// Each calls f with the names of files that may have changed since the last call. It reports false if any of them may
// have, and nothing more is known from then on.
func (c *Changes) Each(f func(name string)) (known bool) {
	if c == nil || c.events == nil {
		return false
	}
	for {
		n := c.read()
		if n < 0 {
			c.Close()
			return false
		}
		if n == 0 {
			return c.still()
		}
		for b := c.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
			if mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0 {
				c.Close()
				return false
			}
			if name := unix.ByteSliceToString(b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]); name != "" {
				f(name)
			}
			b = b[unix.SizeofInotifyEvent+size:]
		}
	}
}

// still reports whether the folder is the one that is watched. The system says that a folder is gone only when no
// process has it open any more: a child that was just forked may have.
func (c *Changes) still() bool {
	if now, err := os.Stat(c.folder); err != nil || !os.SameFile(c.first, now) {
		c.Close()
		return false
	}
	return true
}

// read reads what has happened; 0 = nothing has, below 0 = that is not known.
func (c *Changes) read() (n int) {
	raw, err := c.events.SyscallConn()
	if err != nil {
		return -1
	}
	failed := raw.Read(func(fd uintptr) bool {
		err = retried(func() (e error) { n, e = unix.Read(int(fd), c.buf); return e })
		return true
	})
	switch {
	case failed == nil && err == unix.EAGAIN: //nolint:errorlint // the system returns it as it is
		return 0
	case failed != nil || err != nil:
		return -1
	}
	return n
}

// Close ends it. Nothing is known any more.
func (c *Changes) Close() {
	if c != nil && c.events != nil {
		_ = c.events.Close()
		c.events = nil
	}
}
