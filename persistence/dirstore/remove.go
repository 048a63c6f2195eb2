package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
)

// removedSuffix ends the names of what is being removed: folders of the archive, and of live runs an empty file
// beside theirs.
const removedSuffix = ".removed"

// Remove implements [Store]. The run is renamed into a hidden folder of the archive, or marked where it is
// live. That is the moment it is gone; its logs and its working folder follow. What a crash left of other
// removals is removed, too.
func (d *Store) Remove(ctx context.Context, id persistence.ID) error {
	d.finishing.Do(func() { _, _ = d.FinishRemovals(ctx) })
	var hidden, folder string
	err := d.exclusive(ctx, func() error {
		t, err := d.findAndTake(id)
		if err != nil {
			return err
		}
		defer t.release()
		if folder = t.folder; folder == "" { // it may have been there before it was resumed
			if loop, at, ok := persistence.SplitID(id); ok {
				folder = folderName(persistence.MakeRunID(at), loop)
			}
		}
		if err := errors.Join(d.folder(d.history), d.retire(id)); err != nil {
			return err
		}
		if t.folder == "" {
			hidden, err = d.removeLive(t)
		} else {
			hidden, err = d.removeArchived(t)
		}
		return err
	})
	if hidden == "" {
		return err
	}
	if e := d.before("removed"); e != nil {
		return e
	}
	if err == nil {
		err = d.forget(folder)
	}
	if err == nil { // else what is hidden says that there is something to finish
		err = disk.RemoveTree(hidden)
	}
	return remains(id, err)
}

// remains is the error of a run that is gone, err being that of removing its files.
func remains(id persistence.ID, err error) error {
	if err == nil {
		return nil
	}
	return &persistence.RemainsError{ID: id, Err: err}
}

// removeArchived takes a run of the archive out of sight. It returns the folder with the rest of it, "" if
// the run is as it was.
func (d *Store) removeArchived(t *taken) (hidden string, err error) {
	if err := d.clear(t.id); err != nil { // leftovers
		return "", err
	}
	work := d.ownWork(t.place)
	if hidden, err = d.hide(t.folder); err != nil {
		return "", err
	}
	if err := d.before("remove work"); err != nil {
		return "", err
	}
	return hidden, d.hideFiles(t.id, work, hidden)
}

// hide renames a folder of the archive into a hidden one, permanently also if the power is lost.
func (d *Store) hide(folder string) (hidden string, err error) {
	if hidden, err = disk.MkdirTemp(d.history, ".*"+removedSuffix); err != nil {
		return "", err
	}
	if err := d.before("remove"); err != nil {
		return "", err
	}
	from, to := filepath.Join(d.history, folder), filepath.Join(hidden, hiddenName(folder))
	if err := os.Rename(from, to); err != nil {
		return "", errors.Join(err, os.Remove(hidden))
	}
	if err := d.syncDir(d.history); err != nil {
		return "", errors.Join(err, os.Rename(to, from), os.Remove(hidden))
	}
	if filepath.Dir(folder) != "." {
		_ = os.Remove(filepath.Dir(from)) // the old layout: if it was the last run of the loop
	}
	return hidden, nil
}

// removeLive removes a live run: a mark beside its files takes it out of sight, and goes last. It returns the
// folder with the rest of the run, "" if it is as it was.
func (d *Store) removeLive(t *taken) (hidden string, err error) {
	if hidden, err = d.removeCopy(t); err != nil {
		return "", err
	}
	if hidden == "" {
		if hidden, err = disk.MkdirTemp(d.history, ".*"+removedSuffix); err != nil {
			return "", err
		}
	}
	if err := d.before("remove"); err != nil {
		return "", err
	}
	mark := d.live(t.id).removed
	err = disk.Write(mark, nil)
	if err == nil {
		err = d.syncDir(filepath.Dir(mark))
	}
	if err != nil {
		return "", errors.Join(err, disk.Remove(mark), disk.RemoveTree(hidden))
	}
	return hidden, d.finishLive(t, hidden)
}

// finishLive removes what there is of a live run that is out of sight.
func (d *Store) finishLive(t *taken, hidden string) error {
	if err := d.before("remove work"); err != nil {
		return err
	}
	if err := d.hideFiles(t.id, d.ownWork(t.place), hidden); err != nil {
		return err
	}
	if err := d.clear(t.id); err != nil {
		return err
	}
	return disk.Remove(d.live(t.id).removed)
}

// removeCopy hides what little-loops copied into the archive of a run that is live still, or of an earlier part of it.
func (d *Store) removeCopy(t *taken) (hidden string, err error) {
	l, err := t.load(false)
	if err != nil || l.record == nil || !l.foreign {
		return "", nil // no one else copies; and a run that cannot be read can be removed all the same
	}
	a, ok := d.archived(t.id, folderName(persistence.MakeRunID(l.StartedAt), l.Loop))
	if old, err := a.load(false); ok && err == nil && old.Loop == l.Loop && old.StartedAt.Equal(l.StartedAt) {
		return d.hide(a.folder)
	}
	return "", nil
}

// hiddenName is the name of a run's folder where it is hidden, also of one in the old layout.
func hiddenName(folder string) string {
	if loop, runID := filepath.Split(folder); loop != "" {
		return runID + "-" + filepath.Clean(loop)
	}
	return folder
}

// hideFiles removes the logs of a run that is out of sight, and then moves its working folder, if it has one,
// to where it is hidden. One that cannot be moved is removed at once. As long as the folder has its name, no
// other run gets that.
func (d *Store) hideFiles(id persistence.ID, work, hidden string) error {
	if err := disk.Remove(persistence.LogFiles(filepath.Join(d.root, "logs"), id)...); err != nil || work == "" {
		return err
	}
	if err := d.before("hide work"); err != nil {
		return err
	}
	return hideWork(work, filepath.Join(hidden, hiddenWork))
}

// hiddenWork is the name of a working folder where it is hidden.
const hiddenWork = "work"

func hideWork(work, to string) error {
	err := os.Rename(work, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return disk.RemoveTree(work) // it is on another disk, or there is no room for another name
}

// manySeconds is how far the archive folder of a run can be from the second of its working folder.
const manySeconds = 10

// ownWork returns the working folder of a run, "" if another one has the same: a run whose archive folder was taken was
// given the next second, and kept its working folder; see place.
func (d *Store) ownWork(p place) string {
	flat, _ := (&loaded{}).readState(p.state)
	work := p.workOf(orNone(flat))
	rel, err := filepath.Rel(d.runs, work)
	if err != nil {
		return ""
	}
	first := persistence.ID(filepath.ToSlash(rel))
	if first != p.id && d.uses(first, work) {
		return ""
	}
	loop, at, ok := persistence.SplitID(first)
	for n := 1; ok && n <= manySeconds; n++ {
		if other := persistence.MakeID(loop, at.Add(time.Duration(n)*time.Second)); other != p.id &&
			d.uses(other, work) {
			return ""
		}
	}
	return work
}

// orNone is a state that says nothing where there is none.
func orNone(flat *value.Map) *value.Map {
	if flat == nil {
		return value.NewMap()
	}
	return flat
}

// uses reports whether there is a run with this ID, and that is its working folder.
func (d *Store) uses(id persistence.ID, work string) bool {
	p, err := d.find(id)
	if err != nil {
		return false
	}
	flat, _ := (&loaded{}).readState(p.state)
	return p.workOf(orNone(flat)) == work
}
