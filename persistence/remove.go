package persistence

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/fsm"
)

// removedSuffix ends the names of folders that hold what is being removed.
const removedSuffix = ".removed"

// Remove implements [Store]. The run is renamed into a hidden folder of the archive, which is the moment it is gone, and its
// working folder with it; then that folder is removed. One that does not lie in the archive is brought there first. What a
// crash left of other removals is removed, too.
func (d *Dir) Remove(ctx context.Context, id ID) error {
	d.finishing.Do(func() { d.finishRemovals(ctx) })
	var hidden string
	err := d.exclusive(ctx, func() error {
		t, err := d.findAndTake(id)
		if err != nil {
			return err
		}
		defer t.release()
		hidden, err = d.hide(t)
		return err
	})
	if hidden == "" {
		return err
	}
	if err := d.before("removed"); err != nil {
		return err
	}
	return remains(id, errors.Join(err, RemoveTree(hidden)))
}

// remains is the error of a run that is gone, err being that of removing its files.
func remains(id ID, err error) error {
	if err == nil {
		return nil
	}
	return &RemainsError{ID: id, Err: err}
}

// hide takes a run out of sight. It returns the folder with what is left of it.
func (d *Dir) hide(t *taken) (hidden string, err error) {
	if err := d.folder(d.history); err != nil {
		return "", err
	}
	place := t.place
	if t.folder == "" {
		if place, err = d.setAside(t); err != nil {
			return "", d.removeLive(t) // it cannot be read, or there is no room to build its archive
		}
	} else if err := d.clear(t.id); err != nil {
		return "", err
	}
	if hidden, err = os.MkdirTemp(d.history, ".*"+removedSuffix); err != nil {
		return "", err
	}
	work := d.ownWork(place)
	if err := d.before("remove"); err != nil {
		return "", err
	}
	from := filepath.Join(d.history, place.folder)
	if err := os.Rename(from, filepath.Join(hidden, hiddenName(place.folder))); err != nil {
		return "", errors.Join(err, os.Remove(hidden))
	}
	if filepath.Dir(place.folder) != "." {
		_ = os.Remove(filepath.Dir(from)) // the old layout: if it was the last run of the loop
	}
	if err := d.syncDir(d.history); err != nil {
		return "", err
	}
	if err := d.before("remove work"); err != nil {
		return "", err
	}
	return hidden, hideWork(work, hidden)
}

// setAside moves a live run to the archive, and says where it is there.
func (d *Dir) setAside(t *taken) (place, error) {
	l, err := t.load(false)
	if err != nil {
		return place{}, err
	}
	if l.foreign { // the reference tool copies a run into the archive when it ends
		a, ok := d.archived(t.id, folderName(makeRunID(l.StartedAt), l.Loop))
		if old, err := a.load(false); ok && err == nil && old.Loop == l.Loop && old.StartedAt.Equal(l.StartedAt) {
			return a, d.clear(t.id) // or an earlier part of it: both go
		}
	}
	if l.status == Running {
		l.flat.Set("status", string(Interrupted))
	}
	flat := lastFlat(l)
	if err := d.mend(d.live(t.id), l); err != nil {
		return place{}, err
	}
	p := &parcel{taken: t, flat: flat}
	if d.archive(p); p.err != nil {
		return place{}, p.err
	}
	a, _ := d.archived(t.id, p.archiveName())
	return a, nil
}

// removeLive removes a live run in place. The events go after the state, which can be made from them.
func (d *Dir) removeLive(t *taken) error {
	work := d.ownWork(t.place)
	if err := d.clear(t.id); err != nil {
		return err
	}
	if work == "" {
		return nil
	}
	return remains(t.id, RemoveTree(work))
}

// hiddenName is the name of a run's folder where it is hidden, also of one in the old layout.
func hiddenName(folder string) string {
	if loop, runID := filepath.Split(folder); loop != "" {
		return runID + "-" + filepath.Clean(loop)
	}
	return folder
}

// hideWork moves a working folder to where the run is hidden. One on another disk is removed at once.
func hideWork(work, hidden string) error {
	if work == "" {
		return nil
	}
	err := os.Rename(work, filepath.Join(hidden, "work"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EXDEV), errors.Is(err, fs.ErrPermission):
		return RemoveTree(work)
	}
	return err
}

// manySeconds is how far the archive folder of a run can be from the second of its working folder.
const manySeconds = 10

// ownWork returns the working folder of a run, "" if another one has the same: a run whose archive folder was taken was
// given the next second, and kept its working folder; see place.
func (d *Dir) ownWork(p place) string {
	flat, _ := (&loaded{}).readState(p.state)
	work := p.workOf(orNone(flat))
	rel, err := filepath.Rel(d.runs, work)
	if err != nil {
		return ""
	}
	first := ID(filepath.ToSlash(rel))
	if first != p.id && d.uses(first, work) {
		return ""
	}
	loop, at, ok := splitID(first)
	for n := 1; ok && n <= manySeconds; n++ {
		if other := makeID(loop, at.Add(time.Duration(n)*time.Second)); other != p.id && d.uses(other, work) {
			return ""
		}
	}
	return work
}

// orNone is a state that says nothing where there is none.
func orNone(flat *fsm.Map) *fsm.Map {
	if flat == nil {
		return fsm.NewMap()
	}
	return flat
}

// uses says whether there is a run with this ID, and that is its working folder.
func (d *Dir) uses(id ID, work string) bool {
	p, err := d.find(id)
	if err != nil {
		return false
	}
	flat, _ := (&loaded{}).readState(p.state)
	return p.workOf(orNone(flat)) == work
}

// finishRemovals removes what crashes left of removals. What cannot be removed was told of, and stays.
func (d *Dir) finishRemovals(ctx context.Context) {
	names, _ := readNames(d.history)
	for _, n := range names {
		if !strings.HasPrefix(n, ".") || !strings.HasSuffix(n, removedSuffix) {
			continue
		}
		hidden := filepath.Join(d.history, n)
		_ = d.exclusive(ctx, func() error { return d.finishHiding(hidden) })
		_ = RemoveTree(hidden)
	}
}

// finishHiding hides the working folder of a run that is hidden, unless it was begun anew since.
func (d *Dir) finishHiding(hidden string) error {
	if exists(filepath.Join(hidden, "work")) {
		return nil
	}
	names, _ := readNames(hidden)
	for _, n := range names {
		runID, loop, ok := splitFolder(n)
		at, err := parseRunID(runID)
		if !ok || err != nil {
			continue
		}
		p := archivePlace(filepath.Join(hidden, n))
		p.id, p.runs = makeID(loop, at), d.runs
		work := d.ownWork(p)
		if work == "" || d.uses(p.id, work) {
			continue
		}
		rel, err := filepath.Rel(d.runs, work)
		if err != nil {
			continue
		}
		lock, err := d.claim(ID(filepath.ToSlash(rel)))
		if err != nil {
			return err // somebody has this second now
		}
		t := &taken{d: d, lock: lock}
		err = hideWork(work, hidden)
		t.release()
		return err
	}
	return nil
}

// Size implements [Store]. What cannot be read is counted as long as its length is known.
func (d *Dir) Size(_ context.Context, id ID) (int64, error) {
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return 0, err
		}
		f := d.live(id)
		paths := []string{f.state, f.events, f.parts, f.aside, f.torn, f.meta}
		if p.folder != "" {
			paths = append(paths, filepath.Dir(p.state))
		}
		if work := d.ownWork(p); work != "" {
			paths = append(paths, work)
		}
		n, err := TreeSize(paths...)
		if again, e := d.find(id); e == nil && again == p || try == 3 { // otherwise it was moved meanwhile
			return n, err
		}
	}
}
