package sqlstore

import (
	"io/fs"
	"os"

	"loops/persistence"
)

// A sameFile is the file of a database that is open. SQLite would go on writing to one that has no name any more, and
// whatever it took there would be gone with this process.
type sameFile struct {
	path   string
	opened os.FileInfo
}

func openedFile(path string) (sameFile, error) {
	st, err := os.Stat(path)
	return sameFile{path, st}, err
}

// there is an error if the file was removed, or another one has its name.
func (f sameFile) there() error {
	if st, err := os.Stat(f.path); err == nil && os.SameFile(st, f.opened) {
		return nil
	}
	return &fs.PathError{Op: "write", Path: f.path, Err: persistence.ErrRemoved}
}
