package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// Around implements [Rewinder].
func (d *Store) Around(_ context.Context, id persistence.ID, seq uint64) (before, after persistence.Moment, err error) {
	for try := 0; ; try++ {
		p, err := d.find(id)
		if err != nil {
			return before, after, err
		}
		before, after, err = p.around(seq)
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			return before, after, err
		case try == 3: // it has no events
			return persistence.Moment{}, persistence.Moment{}, nil
		}
		time.Sleep(2 * time.Millisecond) // it was moved while we read
	}
}

func (p place) around(seq uint64) (before, after persistence.Moment, err error) {
	log, err := segment.OpenLog(p.events, p.parts)
	if err != nil {
		return before, after, err
	}
	defer log.Close()
	r := &rewinder{seq: seq}
	// Every part begins with a whole memory, so that the one before the part in question is enough.
	from := 0
	for i, part := range log.Parts {
		if part.Indexed && part.First <= seq {
			from = max(0, i-1)
		}
	}
	for i := from; i < len(log.Parts) && !r.done; i++ {
		if err := r.part(log.Parts[i], segment.LastOf(log.Parts[:i])); err != nil {
			return before, after, err
		}
	}
	if log.Newest != nil && !r.done {
		if err := r.read(log.Newest, segment.LastOf(log.Parts)); err != nil {
			return before, after, err
		}
	}
	if r.spoilt != nil {
		return before, after, r.spoilt
	}
	if !r.done {
		r.before, r.beforeSeq = r.flat, r.at // the event is behind all that is recorded
	}
	if before, err = p.moment(r.before, r.beforeSeq); err == nil {
		after, err = p.moment(r.after, r.afterSeq)
	}
	return before, after, err
}

// moment makes a memory of a flat object, whose large texts are read.
func (p place) moment(flat *value.Map, seq uint64) (persistence.Moment, error) {
	if flat == nil {
		return persistence.Moment{}, nil
	}
	b := blobs{dir: filepath.Join(p.workOf(flat), "blobs")}
	if _, err := b.fill(flat); err != nil {
		return persistence.Moment{}, err
	}
	memory, err := snapshot.Take(flat)
	if err != nil {
		return persistence.Moment{}, &persistence.DamageError{
			File: p.events, Offset: -1,
			What: fmt.Sprintf("the memory at event %d: %v", seq, err),
		}
	}
	return persistence.Moment{Seq: seq, Memory: memory}, nil
}

// A rewinder goes through a journal up to the first memory with or after an event.
type rewinder struct {
	seq    uint64
	flat   *value.Map // the memory at the event at; nil = it is not known
	at     uint64
	spoilt error // a line since at may have held a patch and cannot be read

	before, after       *value.Map
	beforeSeq, afterSeq uint64
	done                bool
}

func (r *rewinder) part(part segment.Part, last uint64) error {
	f, err := disk.Open(part.Path, os.O_RDONLY)
	if err != nil {
		return err // where it was moved, Around looks again
	}
	defer f.Close()
	return r.read(f, last)
}

// read reads one file, after the event with this number; 0 = it is not known.
func (r *rewinder) read(f *os.File, last uint64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	s := segment.NewScanner(io.NewSectionReader(f, 0, st.Size()), segment.Position{Last: last, AnyNext: last == 0})
	for !r.done {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.line(f.Name(), &e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rewinder) lose(file string, at int64, what string) {
	if r.spoilt == nil {
		r.spoilt = &persistence.DamageError{File: file, Offset: at, What: what}
	}
	r.flat = nil
}

func (r *rewinder) line(file string, e *segment.Entry) (err error) {
	if e.Missing != "" {
		r.lose(file, e.Start, e.Missing)
	}
	if e.Bad != "" {
		if !segment.IsOutput(e.Raw) || segment.MayHoldMemory(e.Raw) {
			r.lose(file, e.Start, e.Bad)
		}
		return nil
	}
	if e.Memory == nil {
		return nil
	}
	if r.spoilt != nil {
		if e.Seq >= r.seq {
			r.done = true // whatever comes, what was asked for is lost
			return nil
		}
		if !e.Full {
			return nil
		}
	}
	m, err := parseWhole(e.Memory)
	if err != nil {
		r.lose(file, e.Start, err.Error())
		return nil
	}
	if e.Seq >= r.seq {
		r.done = true
		if r.flat != nil {
			r.before, r.beforeSeq = r.flat, r.at
			if r.flat, err = snapshot.Parse(value.AppendJSON(nil, r.flat)); err != nil { // a copy
				return err
			}
		}
	}
	switch {
	case e.Full:
		r.flat, r.spoilt = m, nil
	case r.flat == nil:
		r.done = false // the whole memory it builds on is not there: it is of no use
		return nil
	default:
		if err := snapshot.Apply(r.flat, m); err != nil {
			r.lose(file, e.Start, err.Error())
			return nil
		}
	}
	r.at = e.Seq
	if r.done {
		r.after, r.afterSeq = r.flat, r.at
	}
	return nil
}
