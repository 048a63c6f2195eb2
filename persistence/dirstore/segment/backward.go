package segment

import (
	"bytes"
	"fmt"
	"os"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Backward reads the events of a journal from the last to the first: of the newest file, then of each one
// before it. Like [Forward] it believes lines whose checksum holds, and leaves out those of a batch whose
// memory never came. The zero value is ready.
type Backward struct {
	settled bool // a line with memory was seen: what is before it was
	sums    bool // the line before needs a checksum
}

// Read gives the events of one file, and reports whether more is wanted. The error is that of reading.
func (r *Backward) Read(f *os.File, give func(fsm.Event) bool) (more bool, err error) {
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
func (r *Backward) line(object []byte, sum snapshot.Sum) (e fsm.Event, ok bool) {
	if sum == snapshot.Spoilt || sum == snapshot.Unsummed && r.sums {
		return e, false
	}
	r.sums = sum == snapshot.Sound
	l := Split(object)
	e, err := fsm.ParseEvent(l.Event)
	if err != nil {
		return e, false
	}
	r.settled = r.settled || l.Memory != nil || e.Seq == 0
	return e, r.settled || IsOutput(l.Event)
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
	begun := false  // a line end was seen: what is after the last one is no line
	for end := st.Size(); end > 0; {
		if len(rest) > MostLine {
			return &persistence.DamageError{
				File: f.Name(), Offset: -1,
				What: fmt.Sprintf("it has a line of more than %d bytes", MostLine),
			}
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
