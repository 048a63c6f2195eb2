package persistence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"loops/fsm"
)

// eachEvent reads the whole lines of an event file, without their memory. Events without a number (of the
// reference tool) are numbered by their place. Lines that wait for a memory line that never came are left out.
// It returns the error of reading.
func eachEvent(r io.Reader, path string, yield func(fsm.Event, error) bool) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	var waiting []fsm.Event
	var seq uint64
	for at := int64(0); ; {
		b, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, b...)
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(long) > 0 {
			long = append(long, b...)
			b = long
		}
		start := at
		at += int64(len(b))
		b = bytes.TrimRight(b, "\r\n")
		if len(bytes.TrimSpace(b)) == 0 {
			continue
		}
		ln := splitLine(b)
		e, err := fsm.ParseEvent(ln.event)
		long = long[:0]
		if err != nil {
			if !yield(fsm.Event{}, &DamageError{File: path, Offset: start, What: err.Error()}) {
				return nil
			}
			continue
		}
		ours := e.Seq > 0
		if !ours {
			e.Seq = seq + 1
		}
		seq = e.Seq
		if ours && ln.memory == nil && (len(waiting) > 0 || e.Kind != "action_output") {
			waiting = append(waiting, e)
			continue
		}
		for _, w := range append(waiting, e) {
			if !yield(w, nil) {
				return nil
			}
		}
		waiting = waiting[:0]
	}
}

// Events implements [Store].
func (d *Dir) Events(ctx context.Context, id ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		p, err := d.find(id)
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		f, err := openFile(p.events, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			// The run may have been moved to the archive, or back, since we looked.
			if p, err = d.find(id); err == nil {
				f, err = openFile(p.events, os.O_RDONLY, 0)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
		}
		if err != nil {
			yield(fsm.Event{}, err)
			return
		}
		defer f.Close()
		stopped := false
		err = eachEvent(f, p.events, func(e fsm.Event, err error) bool {
			if err == nil && e.Seq <= after {
				return true
			}
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
				yield(fsm.Event{}, err)
				stopped = true
				return false
			}
			stopped = !yield(e, err)
			return !stopped
		})
		if err != nil && !stopped {
			yield(fsm.Event{}, err)
		}
	}
}
