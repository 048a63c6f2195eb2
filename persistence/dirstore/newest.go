package dirstore

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// newestFile holds the greatest run id of the folder and the boot in which it was written, on one line. The
// names of a large archive are not read for each run that begins. The file is not synced, so it counts only in
// the boot that wrote it.
func (d *Store) newestFile() string { return filepath.Join(d.running, ".newest") }

// newestID returns the greatest run id of the folder, "" if there is none, for a run that owner begins at a
// time. It believes the file only if that names no later second. Called within exclusive.
func (d *Store) newestID(owner persistence.Owner, at time.Time) (newest string, err error) {
	if text, err := disk.Read(d.newestFile()); err == nil {
		id, boot, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
		if persistence.IsRunID(id) && id <= persistence.MakeRunID(at) && boot == bootOf(owner) && owner.Boot != "" {
			return id, nil
		}
	}
	stems := make(map[string]seen)
	if err := d.stems(context.Background(), stems); err != nil {
		return "", err
	}
	for stem := range stems {
		if _, at, ok := persistence.SplitID(persistence.ID(stem)); ok {
			newest = max(newest, persistence.MakeRunID(at))
		}
	}
	folders, err := d.folders(d.cached(), "")
	if err != nil {
		return "", err
	}
	for f := range folders {
		return max(newest, f.key[:len(persistence.RunIDLayout)]), nil
	}
	return newest, nil
}

// noteNewest keeps the greatest run id. If it cannot, the next run reads the names of all runs.
func (d *Store) noteNewest(newest string, owner persistence.Owner) {
	_ = disk.Write(d.newestFile(), []byte(newest+" "+bootOf(owner)+"\n"))
}

func bootOf(o persistence.Owner) string { return o.Host + "/" + o.Boot }
