package dirstore

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// size returns how many bytes a run takes. What cannot be read is counted as long as its length is known.
func (d *Store) size(id persistence.ID) (int64, error) {
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return 0, err
		}
		f := d.live(id)
		paths := []string{f.state, f.events, f.parts, f.aside, f.torn, f.meta, f.commands}
		if p.folder != "" {
			paths = append(paths, filepath.Dir(p.state))
		}
		if work := d.ownWork(p); work != "" {
			paths = append(paths, work)
		}
		n, err := disk.TreeSize(paths...)
		if again, e := d.find(id); e == nil && again == p || try == 3 { // otherwise it was moved meanwhile
			return n, err
		}
	}
}

// Sizes implements [persistence.Store]. Of a run in the archive whose records a listing has measured, only the working
// folder is looked at.
func (d *Store) Sizes(ctx context.Context, ids []persistence.ID, listed []int64) ([]int64, error) {
	sizes, errs := make([]int64, len(ids)), make([]error, len(ids))
	var w *workFolders
	if len(ids) >= manyStates { // else it takes longer to read all their names
		w = d.workFolders()
	}
	spread(len(ids), func(i int) {
		if ctx.Err() != nil {
			errs[i] = context.Cause(ctx)
			return
		}
		if work, known := w.of(ids[i]); known && listed[i] > 0 {
			if sizes[i] = listed[i]; work != "" { // which may have second names of files in the archive
				sizes[i], errs[i] = disk.TreeSize(w.folder(ids[i]), work)
			}
			return
		}
		if sizes[i], errs[i] = d.size(ids[i]); errors.Is(errs[i], persistence.ErrNotFound) {
			errs[i] = nil
		}
	})
	persistence.CountReads(ctx, len(ids))
	return sizes, errors.Join(errs...)
}

// workFolders knows which working folders there are, and which folders of the archive.
type workFolders struct {
	d             *Store
	work, archive map[string]bool // by name
}

func (d *Store) workFolders() *workFolders {
	w := &workFolders{d, map[string]bool{}, map[string]bool{}}
	_ = disk.EachName(d.runs, func(name string) { w.work[name] = true })
	_ = disk.EachName(d.history, func(name string) { w.archive[name] = true })
	return w
}

// of returns the working folder of a run in the archive, as [Store.ownWork] does; "" = it has none. It reports false
// where the names of folders do not say: a run may have kept that of up to manySeconds before, and another run its own.
func (w *workFolders) of(id persistence.ID) (path string, known bool) {
	loop, at, ok := persistence.SplitID(id)
	if w == nil || !ok || strings.ContainsRune(string(id), '/') {
		return "", false
	}
	has := w.work[string(id)]
	for n := 1; n <= manySeconds; n++ {
		if !has && w.work[string(persistence.MakeID(loop, at.Add(-time.Duration(n)*time.Second)))] {
			return "", false
		}
		if !has || len(w.work) == 0 {
			continue
		}
		later := at.Add(time.Duration(n) * time.Second)
		if w.archive[folderName(persistence.MakeRunID(later), loop)] &&
			!w.work[string(persistence.MakeID(loop, later))] {
			return "", false
		}
	}
	if !has {
		return "", true
	}
	return filepath.Join(w.d.runs, string(id)), true
}

// folder returns the folder of a run in the archive.
func (w *workFolders) folder(id persistence.ID) string {
	loop, at, _ := persistence.SplitID(id)
	return filepath.Join(w.d.history, folderName(persistence.MakeRunID(at), loop))
}
