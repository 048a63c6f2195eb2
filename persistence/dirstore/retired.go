package dirstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"loops/internal/disk"
	"loops/persistence"
)

// retiredFile holds the run ids of a loop's removed runs, a line each, so that no new run gets one of them.
func (d *Store) retiredFile(loop string) string {
	return filepath.Join(d.running, ".removed-"+persistence.EncodeLoop(loop)+".ids")
}

// retired returns the lines of that file.
func (d *Store) retired(loop string) ([]byte, error) {
	ids, err := disk.Read(d.retiredFile(loop))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ids, err
}

func isRetired(ids []byte, runID string) bool { return bytes.Contains(ids, []byte(runID+"\n")) }

// retire records durably that no new run gets the id of a run. Called within exclusive, before the run is removed.
func (d *Store) retire(id persistence.ID) error {
	runID, loop, ok := splitFolder(string(id)) // of little-loops
	if l, at, ours := persistence.SplitID(id); ours {
		runID, loop, ok = persistence.MakeRunID(at), l, true
	}
	if !ok {
		return nil // no new run gets such an id
	}
	ids, err := d.retired(loop)
	if err != nil || isRetired(ids, runID) {
		return err
	}
	if err := d.folder(d.running); err != nil {
		return err
	}
	f, err := disk.Open(d.retiredFile(loop), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	line := runID + "\n"
	if n := len(ids); n > 0 && ids[n-1] != '\n' { // a writer died in the middle of a line
		line = "\n" + line
	}
	return errors.Join(d.appendDurably(f, int64(len(ids)), []byte(line)), f.Close())
}
