package dirstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// importBatch is how many events are written at once.
const importBatch = 500

// Import implements [Importer]. The run is built in a directory of its own, hidden in the archive, and moved into place
// when all of it is there and durable. One of little-loops cannot be imported: only as its own files would it be
// what it was.
func (d *Store) Import(ctx context.Context, r persistence.Recorded) error {
	loop, at, ok := persistence.SplitID(r.Run.ID)
	switch {
	case r.Run.Foreign:
		return fmt.Errorf("run %s was written by little-loops: its files can be copied, but not what was "+
			"read from them", r.Run.ID)
	case !ok || loop != r.Run.Loop || persistence.MakeRunID(at) != r.Run.RunID || persistence.CheckLoop(loop) != nil:
		return fmt.Errorf("run %s of loop %q, %s, cannot be the name of files", r.Run.ID, r.Run.Loop, r.Run.RunID)
	case r.Memory == nil || !r.Memory.StartedAt.Equal(r.Run.StartedAt):
		return fmt.Errorf("run %s does not remember when it started", r.Run.ID)
	}
	// else the files of this run would go with the rest of the removed one
	if disk.Exists(d.live(r.Run.ID).removed) {
		if _, err := d.FinishRemovals(ctx); err != nil {
			return err
		}
	}
	lock, err := d.claim(r.Run.ID) // two that import the same run would be in each other's way
	if err != nil {
		return cmp.Or(d.absent(r.Run.ID), err)
	}
	t := &taken{place: d.livePlace(r.Run.ID), d: d, lock: lock}
	defer t.release()
	name := folderName(r.Run.RunID, r.Run.Loop)
	root := filepath.Join(d.history, "."+name+".import")
	if err := errors.Join(os.RemoveAll(root), d.absent(r.Run.ID)); err != nil { // a crash may have left it
		return err
	}
	defer os.RemoveAll(root)
	side := &Store{
		root: root, running: filepath.Join(root, ".running"), history: filepath.Join(root, ".history"), runs: d.runs,
		PartSize: d.PartSize, step: d.step, synced: d.synced,
	}
	if err := side.rebuild(ctx, r); err != nil {
		return err
	}
	return d.exclusive(ctx, func() error {
		if err := d.absent(r.Run.ID); err != nil {
			return err
		}
		if err := d.before("import"); err != nil {
			return err
		}
		_ = disk.Remove(d.newestFile()) // the run may have a greater id
		if err := disk.RenameNew(filepath.Join(side.history, name), filepath.Join(d.history, name)); err != nil {
			return err
		}
		if err := d.syncDir(d.history); err != nil {
			return err
		}
		if r.Run.Archived {
			return nil
		}
		t.place, _ = d.archived(r.Run.ID, name)
		return d.unarchive(t)
	})
}

// absent says that there is no run with this ID: otherwise the error is fs.ErrExist.
func (d *Store) absent(id persistence.ID) error {
	_, err := d.find(id)
	switch {
	case err == nil:
		return fmt.Errorf("run %s: %w", id, fs.ErrExist)
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	}
	return err
}

// rebuild records a run again in the archive of d.
func (d *Store) rebuild(ctx context.Context, r persistence.Recorded) error {
	if err := errors.Join(disk.MkdirAll(d.history, disk.FolderMode), disk.MakeWork(d.runs, d.work(r.Run.ID))); err !=
		nil {
		return err
	}
	if err := keepDefinition(d.work(r.Run.ID), r.Definition); err != nil {
		return err
	}
	lock, err := d.claim(r.Run.ID)
	if err != nil {
		return err
	}
	j := &journal{d: d, id: r.Run.ID, files: d.live(r.Run.ID), work: d.work(r.Run.ID), lock: lock}
	j.rec = record{
		runID: r.Run.RunID, options: r.Run.Options, file: r.Run.File, sha: r.Run.SHA256, maxSteps: r.Run.MaxSteps,
		segment: r.Run.Segment, origin: r.Run.Origin, reconciled: r.Run.Reconciled, why: r.Run.Why,
	}
	j.init()
	j.define(r.Definition)
	err = errors.Join(j.replay(r), d.keepCommands(j.files.commands, r.Commands))
	j.sync.stop()
	if j.events != nil {
		err = errors.Join(err, j.events.Close())
	}
	if err == nil {
		j.rec.status, j.rec.updated = r.Run.Status, r.Run.UpdatedAt
		err = j.file()
	}
	return errors.Join(err, j.letGo())
}

// replay records the events of a run with its memory.
func (j *journal) replay(r persistence.Recorded) error {
	var next []fsm.Event
	record := func() error {
		b := &fsm.Batch{Events: slices.Clone(next), Snapshot: r.Memory}
		next = next[:0]
		return j.record(b)
	}
	n := uint64(0)
	for e, err := range r.Events {
		if err != nil {
			return err
		}
		if n++; e.Seq != n {
			return fmt.Errorf("run %s: event %d is followed by %d", r.Run.ID, n-1, e.Seq)
		}
		if next = append(next, e); len(next) == importBatch {
			if err := record(); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("run %s has no events", r.Run.ID)
	}
	if len(next) > 0 {
		if err := record(); err != nil {
			return err
		}
	}
	return j.sync.now()
}

// file moves a run that was recorded whole to the archive.
func (j *journal) file() error {
	if err := j.writeState(j.rec.updated); err != nil {
		return err
	}
	t := &taken{place: j.d.livePlace(j.id), d: j.d, lock: j.lock, durable: true}
	l, err := t.load(false)
	if err != nil {
		return err
	}
	p := &parcel{taken: t, flat: lastFlat(l)}
	j.d.archive(p)
	return p.err
}
