package project

import (
	"errors"
	"io/fs"
	"os"
)

// TreeGone reports whether a work tree that actions run in is gone, while its project is there. dir is the
// folder in it that they run in, "" the one of this project, which may have none.
func (p *Project) TreeGone(dir string) bool {
	if dir == "" {
		dir = p.Work
	}
	if dir == "" {
		return false // a run whose project is gone cannot be recorded either; the recorder reports it
	}
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err = os.Stat(p.Dir)
	return err == nil
}
