package dirstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Tail implements [Tailer].
func (d *Store) Tail(ctx context.Context, id persistence.ID) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		p, err := d.find(id)
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		log, err := p.openLog()
		if errors.Is(err, fs.ErrNotExist) {
			// The run may have been moved to the archive, or back, since we looked.
			if p, err = d.find(id); err == nil {
				log, err = p.openLog()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
		}
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		defer log.close()
		r := &tailReader{}
		give := func(e fsm.Event) bool {
			if ctx.Err() != nil {
				yield(fsm.Event{}, context.Cause(ctx))
				return false
			}
			return yield(e, nil)
		}
		file := func(f *os.File) bool {
			more, err := r.file(f, give)
			if err != nil {
				yield(fsm.Event{}, err)
			}
			return more && err == nil
		}
		if log.newest != nil && !file(log.newest) {
			return
		}
		for i := len(log.parts) - 1; i >= 0; i-- {
			f, err := disk.Open(log.parts[i].path, os.O_RDONLY)
			if errors.Is(err, fs.ErrNotExist) { // the archiving of its run moved it
				if p, e := d.find(id); e == nil {
					f, err = disk.Open(p.partPath(log.parts[i].Name), os.O_RDONLY)
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

// A tailReader goes through the lines of a journal from the last to the first. Like an eventReader it believes those
// whose checksum holds, and leaves out what waits for a memory line that never came.
type tailReader struct {
	settled bool // a line with memory was seen: what stands before it was
	sums    bool // the line before needs a checksum
}

// file goes through one file, and reports whether more is wanted. The error is that of reading.
func (r *tailReader) file(f *os.File, give func(fsm.Event) bool) (more bool, err error) {
	r.sums = false
	more = true
	var held *fsm.Event // without a checksum, which is damage if the line before has one
	err = linesBackwards(f, func(b []byte) bool {
		if b = bytes.TrimRight(b, "\r\n"); len(bytes.TrimSpace(b)) == 0 {
			return true
		}
		object, sum := snapshot.Cut(b)
		if held != nil && sum == snapshot.Unsummed {
			more = give(*held)
		}
		held = nil
		switch e, ok := r.line(object, sum); {
		case !ok || !more:
		case sum == snapshot.Unsummed:
			held = &e
		default:
			more = give(e)
		}
		return more
	})
	if held != nil && more && err == nil {
		more = give(*held)
	}
	return more, err
}

// line judges a line without its end and its checksum.
func (r *tailReader) line(object []byte, sum snapshot.Sum) (e fsm.Event, ok bool) {
	if sum == snapshot.Spoilt || sum == snapshot.Unsummed && r.sums {
		return e, false
	}
	r.sums = sum == snapshot.Sound
	l := splitLine(object)
	e, err := fsm.ParseEvent(l.event)
	if err != nil {
		return e, false
	}
	r.settled = r.settled || l.memory != nil || e.Seq == 0
	return e, r.settled || isOutput(l.event)
}

// tailBlock is how much of a file is read at once.
const tailBlock = 64 << 10

// linesBackwards calls each for the whole lines of a file, the last first, until it wants no more. It may change
// their bytes.
func linesBackwards(f *os.File, each func([]byte) bool) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var rest []byte // the end of a line whose beginning has not been read
	begun := false  // a line end was seen: what stands behind the last one is no line
	for end := st.Size(); end > 0; {
		if len(rest) > mostLine {
			return &persistence.DamageError{File: f.Name(), Offset: -1, What: fmt.Sprintf("it has a line of more than %d bytes", mostLine)}
		}
		start := max(0, end-max(tailBlock, int64(len(rest)))) // a long line is not copied again for every block
		b := make([]byte, end-start, int(end-start)+len(rest))
		if _, err := f.ReadAt(b, start); err != nil {
			return err
		}
		b = append(b, rest...)
		for {
			i := bytes.LastIndexByte(b, '\n')
			if i < 0 {
				break
			}
			if begun && !each(b[i+1:]) {
				return nil
			}
			begun, b = true, b[:i]
		}
		rest, end = b, start
	}
	if begun {
		each(rest)
	}
	return nil
}

var _ persistence.Tailer = (*Store)(nil)
