package sqlstore

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"loops/persistence"
)

// A sameFile is the file of a database that is open. SQLite would continue writing to one that has no name any
// more, and whatever it took there would be gone with this process.
type sameFile struct {
	path   string
	opened os.FileInfo
}

func openedFile(path string) (sameFile, error) {
	st, err := os.Stat(path)
	return sameFile{path, st}, err
}

// there is an error if the file was removed or moved, or another one has its name.
func (f sameFile) there() error {
	if st, err := os.Stat(f.path); err == nil && os.SameFile(st, f.opened) {
		return nil
	}
	why := persistence.ErrRemoved
	if fd, ok := f.descriptor(); ok {
		why = persistence.Moved(fd)
	}
	return &fs.PathError{Op: "write", Path: f.path, Err: why}
}

// descriptor finds the file among those that this process has open, if it has a name. Only SQLite itself may
// open it: who closes it takes the locks away.
func (f sameFile) descriptor() (uintptr, bool) {
	const open = "/proc/self/fd"
	entries, _ := os.ReadDir(open) // elsewhere than on Linux there is no such folder
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 32)
		if err != nil {
			continue
		}
		st, err := os.Stat(open + "/" + e.Name())
		if err != nil || !os.SameFile(st, f.opened) {
			continue
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		return uintptr(n), ok && sys.Nlink > 0
	}
	return 0, false
}
