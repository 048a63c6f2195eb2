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
)

// An eventReader goes through the files of a journal and yields the events in them, without their memory. Events that
// carry no number (of the reference tool) are numbered by their place. Lines that wait for a memory line that never came
// are left out, unless it is there and cannot be read.
type eventReader struct {
	yield   func(fsm.Event, error) bool
	after   uint64
	last    uint64 // number of the last event that was believed
	sums    bool   // and whether its line has a checksum
	waiting []fsm.Event
	spoilt  bool // a line behind the first of them cannot be read
	stopped bool // yield wants no more
}

func (r *eventReader) give(e fsm.Event, err error) {
	if err == nil && e.Seq <= r.after {
		return
	}
	r.stopped = r.stopped || !r.yield(e, err)
}

func (r *eventReader) giveWaiting() {
	for _, e := range r.waiting {
		r.give(e, nil)
	}
	r.waiting, r.spoilt = r.waiting[:0], false
}

// read goes through one file. Its error is that of reading.
func (r *eventReader) read(f io.Reader, path string) error {
	s := newScanner(f, 0, r.last, r.sums)
	s.parse = true
	for !r.stopped {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.missing != "" || e.bad != "" {
			r.spoilt = len(r.waiting) > 0
		}
		if e.missing != "" {
			r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: e.start, What: e.missing})
		}
		if e.bad != "" {
			r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: e.start, What: e.bad})
			continue
		}
		r.last, r.sums = s.last, s.sums
		e.parsed.Seq = e.seq
		r.waiting = append(r.waiting, e.parsed)
		if !e.numbered || e.memory != nil || len(r.waiting) == 1 && e.parsed.Kind == fsm.EventActionOutput {
			r.giveWaiting()
		}
	}
	return nil
}

// end is called behind the last file. want is the number of the last event that is known to have been there.
func (r *eventReader) end(path string, want uint64) {
	if r.spoilt || r.last < want {
		r.giveWaiting()
	}
	if r.stopped || r.last >= want {
		return
	}
	what := missing(r.last+1, want)
	size := int64(0)
	if st, err := os.Lstat(path); err == nil {
		size = st.Size()
	}
	r.give(fsm.Event{}, &persistence.DamageError{File: path, Offset: size, What: what})
}

// Events implements [Store].
func (d *Store) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		r := &eventReader{after: after}
		r.yield = func(e fsm.Event, err error) bool {
			if err == nil && ctx.Err() != nil {
				yield(fsm.Event{}, context.Cause(ctx))
				return false
			}
			return yield(e, err)
		}
		if err := d.readEvents(id, r); err != nil && !r.stopped {
			yield(fsm.Event{}, err)
		}
	}
}

func (d *Store) readEvents(id persistence.ID, r *eventReader) error {
	p, err := d.find(id)
	if err != nil {
		return err
	}
	want := stateSeq(p.state) // written after the journal, so what lies before it is missing where it is not there
	log, err := p.openLog()
	if errors.Is(err, fs.ErrNotExist) {
		// The run may have been moved to the archive, or back, since we looked.
		if p, err = d.find(id); err == nil {
			log, err = p.openLog()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	defer log.close()
	for _, part := range log.parts {
		if r.stopped {
			return nil
		}
		if part.indexed && part.Last <= r.after {
			r.last = part.Last
			continue
		}
		if err := d.readPart(id, part, r); err != nil {
			return err
		}
	}
	if log.newest != nil && !r.stopped {
		if err := r.read(log.newest, log.newest.Name()); err != nil {
			return err
		}
	}
	r.end(p.events, want)
	return nil
}

// readPart reads a full part, which the archiving of its run may have moved. One that is gone is damage, behind which reading
// continues. One that is there and cannot be read is an error: what follows would look like all there is.
func (d *Store) readPart(id persistence.ID, part part, r *eventReader) error {
	f, err := disk.Open(part.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		if p, e := d.find(id); e == nil {
			f, err = disk.Open(p.partPath(part.Name), os.O_RDONLY)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.give(fsm.Event{}, &persistence.DamageError{File: part.path, Offset: -1, What: errText(err)})
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	return r.read(f, part.path)
}
