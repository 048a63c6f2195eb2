package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// Events implements [Store].
func (d *Store) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		p, err := d.findListed(id)
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		d.events(ctx, p, stateSeq(p.state), after)(yield)
	}
}

// events yields the events of a run that was found in a place. Its state file, which is written after the
// journal, knew of the event with the number want: those up to that one are missing where they are not there.
func (d *Store) events(ctx context.Context, p place, want, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		r := &segment.Forward{After: after, Yield: until(ctx, yield)}
		if _, err := d.readEvents(p, want, r); err != nil && !r.Done() {
			yield(fsm.Event{}, err)
		}
	}
}

// until is yield until ctx ends, which it yields as an error.
func until(ctx context.Context, yield func(fsm.Event, error) bool) func(fsm.Event, error) bool {
	return func(e fsm.Event, err error) bool {
		if err == nil && ctx.Err() != nil {
			yield(fsm.Event{}, context.Cause(ctx))
			return false
		}
		return yield(e, err)
	}
}

// readEvents returns the newest file of the journal, as it was when it was opened, if it was read.
func (d *Store) readEvents(p place, want uint64, r *segment.Forward) (newest os.FileInfo, err error) {
	id := p.id
	log, err := segment.OpenLog(p.events, p.parts)
	if errors.Is(err, fs.ErrNotExist) {
		// The run may have been moved to the archive, or back, since we looked.
		if p, err = d.findListed(id); err == nil {
			log, err = segment.OpenLog(p.events, p.parts)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil //nolint:nilnil // there is nothing to read
		}
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	for _, part := range log.Parts {
		if r.Done() {
			return nil, nil //nolint:nilnil // it was not read
		}
		if r.Pass(part) {
			continue
		}
		if err := d.readPart(id, part, r); err != nil {
			return nil, err
		}
	}
	if log.Newest != nil && !r.Done() {
		if newest, err = log.Newest.Stat(); err != nil {
			return nil, err
		}
		if err := r.ReadBehind(log.Newest, log.Newest.Name()); err != nil {
			return nil, err
		}
	}
	r.End(p.events, want)
	return newest, nil
}

// readPart reads a full part, which the archiving of its run may have moved. One that is gone is damage, behind
// which reading continues. One that is there and cannot be read is an error: what follows would look like all
// there is.
func (d *Store) readPart(id persistence.ID, part segment.Part, r *segment.Forward) error {
	f, err := disk.Open(part.Path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		if p, e := d.find(id); e == nil {
			f, err = disk.Open(p.partPath(part.Name), os.O_RDONLY)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Gone(part.Path, err)
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	return r.ReadBehind(f, part.Path)
}
