package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// find says where the files of a run are. A run that is both live and in the archive is in the archive, and
// what is live is left over, unless its archive folder was written by little-loops, which copies.
func (d *Store) find(id persistence.ID) (place, error) {
	if !id.Valid() {
		return place{}, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	if _, _, ok := splitFolder(string(id)); ok { // an archive of little-loops
		if p, ok := d.archived(id, string(id)); ok {
			return p, nil
		}
		runID, loop, _ := splitFolder(string(id))
		if p, ok := d.archived(id, filepath.Join(loop, runID)); ok { // its old nested layout
			return p, nil
		}
	}
	p := d.livePlace(id)
	here := d.leftover(id)
	if loop, at, ok := persistence.SplitID(id); ok {
		if a, ok := d.archived(id, folderName(persistence.MakeRunID(at), loop)); ok && (!here || written(a.state)) {
			return a, nil
		}
	}
	if here {
		return p, nil
	}
	if r, ok := d.starting(id); ok {
		return place{}, &persistence.StartingError{ID: id, Owner: r.Owner}
	}
	return place{}, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
}

// partPath is where a full part of the journal lies.
func (p place) partPath(name string) string { return filepath.Join(p.parts, name) }

// livePlace is where the files of a run among the running ones are.
func (d *Store) livePlace(id persistence.ID) place {
	return d.placeOf(id, d.live(id))
}

func (d *Store) placeOf(id persistence.ID, f livePaths) place {
	return place{
		id: id, state: f.state, events: f.events, parts: f.parts, aside: f.aside, commands: f.commands,
		runs: d.runs,
	}
}

// archivePlace is where the files of a run in a folder of the archive are.
func archivePlace(dir string) place {
	return place{
		state: filepath.Join(dir, "state.json"), events: filepath.Join(dir, "events.jsonl"),
		parts: filepath.Join(dir, "events"),
		aside: filepath.Join(dir, "events.damaged"), commands: filepath.Join(dir, commandsFile),
	}
}

// archivedPlace is where the files of a run in a folder of this archive are, if they are there.
func (d *Store) archivedPlace(id persistence.ID, folder string) place {
	p := archivePlace(filepath.Join(d.history, folder))
	p.id, p.runs, p.folder = id, d.runs, folder
	return p
}

func (d *Store) archived(id persistence.ID, folder string) (place, bool) {
	p := d.archivedPlace(id, folder)
	return p, p.there()
}

// there reports whether a folder of the archive has a file of a run.
func (p place) there() bool { return disk.Exists(p.state) || disk.Exists(p.events) }

// written reports whether a state file was written by this program.
func written(state string) bool {
	b, err := disk.Read(state)
	if err != nil {
		return false
	}
	ours, _ := checked(b)
	return ours
}

// A taken run is one that this process has made its own for a while.
type taken struct {
	place
	d       *Store
	lock    *os.File
	durable bool // its event file is known to be
}

// take makes sure that no process owns a run, and that no one else will. Called within exclusive.
func (d *Store) take(p place) (*taken, error) {
	if p.folder == "" {
		live := d.live(p.id)
		l, err := readLock(live.lock)
		if (err != nil || !l.Flock) && !disk.Held(live.lock) { // no lock of ours: it may be a live run of little-loops
			var inState persistence.Owner
			var updated time.Time
			run, _ := p.load(false)
			if run != nil && run.record != nil {
				inState, updated = run.owner, run.updated
			}
			if run != nil && run.record != nil && run.foreign && run.status == persistence.Running {
				if o, at := d.foreignOwner(p.id, inState, updated); d.alive(o, at) {
					return nil, &persistence.HeldError{ID: p.id, Owner: o}
				}
			}
		}
	}
	lock, err := d.claim(p.id)
	if err != nil {
		return nil, err
	}
	return &taken{place: p, d: d, lock: lock}, nil
}

// release releases a run.
func (t *taken) release() {
	_ = disk.Remove(t.lock.Name())
	_ = disk.Release(t.lock)
}

// Snapshot implements [Store].
func (d *Store) Snapshot(_ context.Context, id persistence.ID) (*fsm.Snapshot, error) {
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return nil, err
		}
		l, err := p.load(true)
		if err == nil && (!l.gap || try == 3) {
			return &l.Snapshot, nil
		}
		if try < 3 { // it may have been moved, or written, while we read
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
		}
		return nil, err
	}
}
