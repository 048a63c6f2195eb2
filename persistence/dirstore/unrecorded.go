package dirstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// unrecorded reports whether the owner of a run made its event file and has not yet recorded anything, or never did: it
// died, or the machine lost its power. Such a run never was. Its other files may be there, and a loss of power leaves
// them empty; of a file that says anything, or of a journal that was whole once, this is not so.
func (d *Store) unrecorded(id persistence.ID) bool {
	p := d.live(id)
	if !hasNothing(p.state) || disk.Exists(p.parts) {
		return false
	}
	if l, err := readLock(p.lock); err == nil && !l.Flock || err != nil && !hasNothing(p.lock) {
		return false // it is a run of little-loops, or damaged
	}
	return begunOnly(p.events)
}

// hasNothing reports whether a file is not there, or is as a loss of power leaves one whose bytes did not come
// to the disk: empty, or as long as it was and all zero bytes.
func hasNothing(path string) bool {
	b, err := disk.Read(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return len(bytes.Trim(b, "\x00")) == 0
}

// begunOnly reports whether an event file holds at most a beginning of the first batch, whose memory did not
// come to it.
func begunOnly(path string) bool {
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	s := segment.NewScanner(f, segment.Position{})
	for {
		e, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil, e.Bad != "", e.Missing != "", e.Memory != nil, !s.Sums: // without checksums it is not ours
			return false
		}
	}
}

// discardWork removes the working folder of a run that never recorded anything. All that is in that of a fork
// was copied, as it records its beginning before it does anything. In another there are only the files of the
// store.
func discardWork(work string, fork bool) {
	if fork {
		_ = disk.RemoveTree(work)
		return
	}
	names, _ := disk.Names(work)
	for _, n := range names {
		if persistence.StoreOwned(n) {
			_ = disk.RemoveTree(filepath.Join(work, n))
		}
	}
	_ = os.Remove(work) // only if it is empty
}
