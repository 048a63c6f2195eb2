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

// Tail implements [Tailer].
func (d *Store) Tail(ctx context.Context, id persistence.ID) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		p, err := d.findListed(id)
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		log, err := segment.OpenLog(p.events, p.parts)
		if errors.Is(err, fs.ErrNotExist) {
			// The run may have been moved to the archive, or back, since we looked.
			if p, err = d.findListed(id); err == nil {
				log, err = segment.OpenLog(p.events, p.parts)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
		}
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		defer log.Close()
		r := &segment.Backward{}
		give := func(e fsm.Event) bool {
			if ctx.Err() != nil {
				yield(fsm.Event{}, context.Cause(ctx))
				return false
			}
			return yield(e, nil)
		}
		file := func(f *os.File) bool {
			more, err := r.Read(f, give)
			if err != nil {
				yield(fsm.Event{}, err)
			}
			return more && err == nil
		}
		if log.Newest != nil && !file(log.Newest) {
			return
		}
		for i := len(log.Parts) - 1; i >= 0; i-- {
			f, err := disk.Open(log.Parts[i].Path, os.O_RDONLY)
			if errors.Is(err, fs.ErrNotExist) { // the archiving of its run moved it
				if p, e := d.find(id); e == nil {
					f, err = disk.Open(p.partPath(log.Parts[i].Name), os.O_RDONLY)
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue // it is damage
			}
			if err != nil {
				yield(fsm.Event{}, err)
				return
			}
			more := file(f)
			f.Close()
			if !more {
				return
			}
		}
	}
}
