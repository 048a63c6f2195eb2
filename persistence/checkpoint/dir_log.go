package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Append implements [Log]. All events are appended with one write and one sync, so a few at once cost hardly more
// than one.
func (d *Dir) Append(ctx context.Context, run string, events ...Event) (uint64, error) {
	if d == nil {
		return 0, nil
	}
	p, err := d.files(run)
	if err != nil {
		return 0, err
	}
	how := lockMake
	if len(events) == 0 {
		how = lockShared
	}
	f, err := d.disk.lock(ctx, p.events, how)
	if errors.Is(err, fs.ErrNotExist) && len(events) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, appending(run, err)
	}
	defer f.Close()
	last, err := lastEvent(f)
	if err != nil {
		return 0, appending(run, err)
	}
	var lines []byte
	for i, e := range events {
		if e, err = Numbered(e, last.seq+uint64(i)+1); err != nil {
			return 0, appending(run, err)
		}
		stamp(&e, d.Clock.Now())
		if lines, err = appendEvent(lines, e); err != nil {
			return 0, fmt.Errorf("run %s: %w", run, err)
		}
	}
	if len(lines) > 0 {
		if err := d.write(f, last, lines); err != nil {
			return 0, appending(run, err)
		}
	}
	return last.seq + uint64(len(events)), nil
}

func appending(run string, err error) error {
	return fmt.Errorf("no events can be appended for run %s: %w", run, err)
}

func stamp(e *Event, now time.Time) {
	if e.Time.IsZero() {
		e.Time = now
	}
	e.Time = e.Time.UTC()
}

// write puts lines after the last whole one. What is there already is of an Append that never returned.
func (d *Dir) write(f *os.File, l logEnd, lines []byte) error {
	var err error
	if l.size > l.end {
		if err = d.disk.next("truncate", f.Name()); err == nil {
			err = f.Truncate(l.end)
		}
	}
	if err == nil {
		err = d.disk.next("append", f.Name())
	}
	if err == nil {
		_, err = f.WriteAt(append(l.missing, lines...), l.end)
	}
	if err == nil {
		err = d.disk.flush(f)
	}
	if err == nil && l.end == 0 { // the names of the file and its folder
		if err = d.disk.sync(filepath.Dir(f.Name())); err == nil {
			err = d.disk.sync(d.root)
		}
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(l.end))
	}
	return err
}

// A logEnd is where a log ends.
type logEnd struct {
	size int64  // of the file
	end  int64  // behind the last whole line
	seq  uint64 // of the last event, also where its line is damaged

	missing []byte // what the last whole line needs at its end: nothing, or a line end that was damaged
}

func lastEvent(f *os.File) (logEnd, error) {
	st, err := f.Stat()
	if err != nil {
		return logEnd{}, err
	}
	l := logEnd{size: st.Size()}
	// Most often the last line is good and within the last few kilobytes.
	for chunk := int64(16 << 10); ; chunk *= 16 {
		from := max(0, l.size-chunk)
		tail := make([]byte, l.size-from)
		if _, err := f.ReadAt(tail, from); err != nil {
			return l, err
		}
		start := bytes.LastIndexByte(tail[:max(0, len(tail)-1)], '\n') + 1
		if start == 0 && from > 0 {
			continue // the line begins before
		}
		if e, err := parseEvent(tail[start:]); err == nil {
			l.end, l.seq = l.size, e.Seq
			return l, nil
		}
		break
	}
	err = eachLine(io.NewSectionReader(f, 0, l.size), func(line logLine) bool {
		l.end, l.seq = line.at+int64(line.bytes), line.seq
		if line.unended {
			l.end, l.missing = l.end-1, []byte{'\n'}
		}
		return true
	})
	return l, err
}

// A logLine is one whole line of a log.
type logLine struct {
	at    int64
	bytes int
	seq   uint64 // of its event; of the last one where it is damaged and may hold several
	event Event
	err   error // what is wrong with it
	gap   error // what is missing before it

	unended bool // its last byte is no line end, but all else is there
}

// eachLine reads the whole lines of a log.
func eachLine(r io.Reader, yield func(logLine) bool) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var l logLine
	var good uint64 // number of the last good event
	for {
		b, err := br.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			// What is left is of an Append that never returned, unless it is as long as a whole line.
			if l.unended = repair(b); !l.unended {
				return nil
			}
		case err != nil:
			return err
		}
		spoilt := l.err != nil
		l.bytes, l.gap = len(b), nil
		l.event, l.err = parseEvent(b)
		switch seq := l.event.Seq; {
		case l.err != nil:
			// Where the end of a line was damaged too, this one holds several events.
			l.seq += max(1, uint64(bytes.Count(b, []byte(`{"seq":`))))
		case seq <= good:
			l.err = fmt.Errorf("event %d follows event %d", seq, good)
		default:
			if seq != l.seq+1 && !spoilt {
				l.gap = fmt.Errorf("event %d follows event %d", seq, good)
			}
			l.seq, good = seq, seq
		}
		if !yield(l) || l.unended {
			return nil
		}
		l.at += int64(len(b))
	}
}

// repair makes the last byte of a line a line end, if all else of an event is there.
func repair(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	b[len(b)-1] = '\n'
	_, err := parseEvent(b)
	return err == nil
}

// Since implements [Log].
func (d *Dir) Since(ctx context.Context, run string, seq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if d == nil {
			return
		}
		p, err := d.files(run)
		if err != nil {
			yield(Event{}, err)
			return
		}
		f, end, err := d.openLog(ctx, p.events)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("events of run %s: %w", run, err))
			return
		}
		defer f.Close()
		stopped := false
		damaged := func(at int64, what error) bool {
			return yield(Event{}, &DamageError{File: p.events, Offset: at, What: what.Error()})
		}
		err = eachLine(io.NewSectionReader(f, 0, end), func(l logLine) bool {
			switch {
			case l.seq <= seq:
				return true
			case ctx.Err() != nil:
				yield(Event{}, context.Cause(ctx))
				stopped = true
			case l.err != nil:
				stopped = !damaged(l.at, l.err)
			case l.gap != nil && !damaged(l.at, l.gap):
				stopped = true
			default:
				stopped = !yield(l.event, nil)
			}
			return !stopped
		})
		if err != nil && !stopped {
			yield(Event{}, err)
		}
	}
}

// openLog opens a log for reading up to what was appended when no process was writing to it.
func (d *Dir) openLog(ctx context.Context, path string) (*os.File, int64, error) {
	f, err := d.disk.lock(ctx, path, lockShared)
	if err != nil {
		return nil, 0, err
	}
	last, err := lastEvent(f)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // what is there stays as it is
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, last.end + int64(len(last.missing)), nil
}

// Clear implements [Log].
func (d *Dir) Clear(ctx context.Context, run string) error {
	if d == nil {
		return nil
	}
	p, err := d.files(run)
	if err != nil {
		return err
	}
	f, err := d.disk.lock(ctx, p.events, lockWrite)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(p.folder) // empty, if Delete or Clear was killed
		return nil
	}
	if err == nil {
		defer f.Close()
		err = d.disk.remove(p.events)
	}
	if err == nil {
		err = d.disk.sync(p.folder)
	}
	if err != nil {
		return fmt.Errorf("the events of run %s cannot be cleared: %w", run, err)
	}
	_ = os.Remove(p.folder) // unless there is a checkpoint
	return nil
}
