package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/disk"
	"loops/persistence"
)

// FinishRemovals implements [Store]. It also removes what was half made when its process died: archive folders,
// and runs that recorded nothing.
func (d *Store) FinishRemovals(ctx context.Context) (gone []persistence.ID, err error) {
	if hidden, marks, stale := d.cutShort(); len(hidden)+len(marks)+len(stale) == 0 {
		return nil, nil // and no lock is needed to know
	}
	var trees []string
	err = d.exclusive(ctx, func() error {
		hidden, marks, stale := d.cutShort()
		var errs []error
		for _, name := range hidden {
			id, done, err := d.finishHidden(name)
			if errs = append(errs, err); done {
				gone, trees = addID(gone, id), append(trees, filepath.Join(d.history, name))
			}
		}
		for _, id := range marks {
			tree, err := d.finishMarked(id)
			if errs = append(errs, err); tree != "" {
				gone, trees = addID(gone, id), append(trees, tree)
			}
		}
		for _, id := range stale {
			errs = append(errs, d.dropStale(id))
		}
		return errors.Join(append(errs, d.dropHalf())...)
	})
	if len(trees) > 0 {
		if e := d.forget(""); e != nil {
			return gone, errors.Join(err, e)
		}
	}
	for _, tree := range trees {
		err = errors.Join(err, disk.RemoveTree(tree))
	}
	return gone, err
}

func addID(ids []persistence.ID, id persistence.ID) []persistence.ID {
	if id == "" || slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// cutShort looks for what processes that died may have left: hidden folders of the archive, marks of live runs
// that are gone, and runs of which there is only a lock that no process holds.
func (d *Store) cutShort() (hidden []string, marks, stale []persistence.ID) {
	_ = disk.EachName(d.history, func(name string) {
		if name[0] == '.' {
			hidden = append(hidden, name)
		}
	})
	_ = filepath.WalkDir(d.running, func(path string, e fs.DirEntry, err error) error {
		rel, e2 := filepath.Rel(d.running, path)
		if err != nil || e2 != nil || strings.HasPrefix(rel, ".acquire") {
			return nil
		}
		if stem, ok := strings.CutSuffix(filepath.ToSlash(rel), removedSuffix); ok {
			marks = append(marks, persistence.ID(stem))
		}
		if stem, ok := strings.CutSuffix(filepath.ToSlash(rel), ".lock"); ok && d.abandoned(persistence.ID(stem)) {
			stale = append(stale, persistence.ID(stem))
		}
		if stem, ok := strings.CutSuffix(filepath.ToSlash(rel), commandsSuffix); ok &&
			d.unclaimed(persistence.ID(stem)) {
			stale = append(stale, persistence.ID(stem))
		}
		return nil
	})
	return hidden, marks, stale
}

// abandoned reports whether all there is of a live run is a lock of this program that no process holds.
func (d *Store) abandoned(id persistence.ID) bool {
	p := d.live(id)
	if disk.Exists(p.state) || disk.Exists(p.parts) || disk.Exists(p.events) && !d.unrecorded(id) || disk.Held(p.lock) {
		return false
	}
	st, err := os.Lstat(p.lock)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	l, err := readLock(p.lock)
	return st.Size() == 0 || err == nil && l.Flock // it is empty from when it is made until its owner is known
}

// dropStale removes what there is of a run that was about to begin, or was in the hands of a process that died,
// and of which there is nothing among the running ones.
func (d *Store) dropStale(id persistence.ID) error {
	lock, err := d.claim(id)
	if err != nil {
		return unlessHeld(err)
	}
	defer disk.Release(lock) //nolint:errcheck // nothing was written
	if !d.abandonedBy(id) {
		return nil
	}
	if err := d.carryCommands(id); err != nil {
		return err
	}
	l, _ := readLock(lock.Name())
	d.discard(id, l.Fork)
	return nil
}

// abandonedBy is abandoned, asked by the process that has the lock now.
func (d *Store) abandonedBy(id persistence.ID) bool {
	p := d.live(id)
	return !disk.Exists(p.state) && !disk.Exists(p.parts) && (!disk.Exists(p.events) || d.unrecorded(id))
}

// unlessHeld is err, but nil where it says that a process has a run: that one does what is to be done.
func unlessHeld(err error) error {
	if _, held := errors.AsType[*persistence.HeldError](err); held {
		return nil
	}
	return err
}

// finishMarked removes what there is of a live run whose removal was begun. It returns the folder with what is
// left of it.
func (d *Store) finishMarked(id persistence.ID) (hidden string, err error) {
	lock, err := d.claim(id)
	if err != nil {
		return "", unlessHeld(err)
	}
	t := &taken{place: d.livePlace(id), d: d, lock: lock}
	defer t.release()
	if hidden, err = disk.MkdirTemp(d.history, ".*"+removedSuffix); err != nil {
		return "", err
	}
	return hidden, d.finishLive(t, hidden)
}

// finishHidden finishes taking a run out of sight whose removal was begun; done means that the hidden folder
// can go. A folder that is hidden for another reason is left to dropHalf.
func (d *Store) finishHidden(name string) (id persistence.ID, done bool, err error) {
	if !strings.HasSuffix(name, removedSuffix) {
		return "", false, nil
	}
	hidden := filepath.Join(d.history, name)
	names, _ := disk.Names(hidden)
	for _, n := range names {
		runID, loop, ok := splitFolder(n)
		at, err := persistence.ParseRunID(runID)
		if !ok || err != nil {
			continue
		}
		p := archivePlace(filepath.Join(hidden, n))
		p.id, p.runs = persistence.MakeID(loop, at), d.runs
		if state, err := disk.Read(p.state); err == nil {
			if ours, _ := checked(state); !ours {
				p.id = persistence.ID(n) // little-loops'
			}
		}
		if disk.Exists(filepath.Join(hidden, hiddenWork)) {
			return p.id, true, nil
		}
		done, err := d.finishHiding(p, hidden)
		return p.id, done, err
	}
	return "", true, nil
}

// finishHiding hides the files of a run that is hidden, unless it is there again.
func (d *Store) finishHiding(p place, hidden string) (done bool, err error) {
	if _, err := d.find(p.id); err == nil {
		return true, nil
	}
	work, of := d.ownWork(p), p.id
	if rel, err := filepath.Rel(d.runs, work); work != "" && err == nil {
		of = persistence.ID(filepath.ToSlash(rel))
	}
	lock, err := d.claim(of)
	if err != nil {
		return false, unlessHeld(err) // a new run with this id begins just now
	}
	t := &taken{d: d, lock: lock}
	defer t.release()
	return true, d.hideFiles(p.id, work, hidden)
}

// The ends of names of archive folders that are being made, or were replaced.
var halfSuffixes = []string{".tmp", ".old", ".import"}

// dropHalf removes folders of the archive that no process is making or removing any more.
func (d *Store) dropHalf() error {
	names, err := disk.Names(d.history)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		for _, suffix := range halfSuffixes {
			folder, ok := strings.CutSuffix(name, suffix)
			runID, loop, is := splitFolder(strings.TrimPrefix(folder, "."))
			at, err := persistence.ParseRunID(runID)
			// a run of little-loops has the bare name
			if !ok || !is || err != nil || name[0] != '.' || d.Owned(persistence.ID(persistence.EncodeLoop(loop))) {
				continue
			}
			lock, err := d.claim(persistence.MakeID(loop, at))
			if err != nil {
				errs = append(errs, unlessHeld(err))
				continue
			}
			t := &taken{d: d, lock: lock}
			errs = append(errs, disk.RemoveTree(filepath.Join(d.history, name)))
			t.release()
		}
	}
	return errors.Join(errs...)
}
