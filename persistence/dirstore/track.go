package dirstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// A track reads the newest file of a journal from the byte after the last event that it yielded.
type track struct {
	d     *Store
	id    persistence.ID
	after uint64
	first *reading // of the run when it was found; nil = all is looked for

	path   string
	newest os.FileInfo // the file that was read last; nil = the next look reads all behind after
	stand  segment.Position
}

// Track implements [persistence.Store].
func (d *Store) Track(r persistence.Run, after uint64) persistence.Track {
	t := &track{d: d, id: r.ID, after: after}
	if read, ok := r.Reading.(*reading); ok && read.err == nil && !read.l.foreign {
		t.first = read
	}
	return t
}

// Events implements [persistence.Track].
func (t *track) Events(ctx context.Context, last bool) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		give := until(ctx, yield)
		r := &segment.Forward{After: t.after, Yield: func(e fsm.Event, err error) bool {
			if err == nil && e.Seq > 0 {
				t.after = e.Seq
			}
			return give(e, err)
		}}
		newest, err := t.more(r, last)
		if newest == nil && err == nil && !r.Done() {
			newest, err = t.all(r)
		}
		if err != nil && !r.Done() {
			yield(fsm.Event{}, err)
		}
		t.newest = nil
		if stand, ok := r.Position(); ok && err == nil {
			t.newest, t.stand = newest, stand
		}
	}
}

// all reads what is after the last event that was yielded, wherever it is.
func (t *track) all(r *segment.Forward) (os.FileInfo, error) {
	var p place
	var want uint64
	if t.first != nil {
		p, want = t.first.p, t.first.l.seq
		t.first = nil
	} else {
		var err error
		if p, err = t.d.findListed(t.id); err != nil {
			return nil, err
		}
		want = stateSeq(p.state)
	}
	t.path = p.events
	return t.d.readEvents(p, want, r)
}

// more reads what was added to the file that was read last. It returns nothing where that is another file now:
// the run began a new part, or what it was read from was repaired.
func (t *track) more(r *segment.Forward, last bool) (os.FileInfo, error) {
	if t.newest == nil {
		return nil, nil //nolint:nilnil // it is the answer
	}
	f, st, err := disk.OpenStat(t.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) { // its run was moved to the archive, or back
		if p, e := t.d.find(t.id); e == nil {
			t.path = p.events
			f, st, err = disk.OpenStat(t.path, os.O_RDONLY)
		}
	}
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // who looks for all finds out
	}
	defer f.Close()
	if !os.SameFile(st, t.newest) || st.Size() < t.stand.At {
		return nil, nil //nolint:nilnil // it is the answer
	}
	if ok, err := segment.Fits(f, t.stand.At, t.stand.Last); !ok || err != nil {
		return nil, err
	}
	if err := r.ReadOn(io.NewSectionReader(f, t.stand.At, st.Size()-t.stand.At), t.path, t.stand); err != nil {
		return nil, err
	}
	if last {
		if p, err := t.d.find(t.id); err == nil {
			r.End(p.events, stateSeq(p.state))
		}
	}
	return st, nil
}
