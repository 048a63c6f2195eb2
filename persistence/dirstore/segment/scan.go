package segment

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"loops/fsm"
	"loops/persistence/snapshot"
)

// A Scanner goes through the whole lines of one file of a journal and reports which of them can be believed: by
// their checksum, or for lines without one by their form, and by their number, which is one more than that of
// the line before. What is after the last line end is not a line.
type Scanner struct {
	Position
	br    *bufio.Reader
	parse bool   // make the events, too
	lost  uint64 // damaged lines since the last that was believed
	long  []byte
}

// A Position is how far a file was read.
type Position struct {
	At      int64  // end of the last line
	Last    uint64 // number of the last event that was believed
	AnyNext bool   // the number of the next event is not known
	Sums    bool   // the lines have checksums from here on
}

// An Entry is one line as a [Scanner] sees it. Its bytes are valid until the next line.
type Entry struct {
	Line
	Raw        []byte // without the line end
	parsed     fsm.Event
	Seq        uint64 // also for events that carry none
	Numbered   bool   // the event carries its number
	Start, End int64
	Bad        string // why it cannot be believed; "" = it can
	Missing    string // which events are missing before it; "" = none but those of damaged lines
}

// NewScanner scans what r holds of a file, which was read up to there.
func NewScanner(r io.Reader, upTo Position) *Scanner {
	s := &Scanner{br: bufio.NewReaderSize(r, 64<<10), Position: upTo}
	if !s.Sums {
		s.lookAhead()
	}
	return s
}

// lookAhead finds out whether the first lines have a checksum: if the first that has one says that others may be
// before it, or if no line has one, they need none.
func (s *Scanner) lookAhead() {
	b, _ := s.br.Peek(s.br.Size()) // what goes wrong goes wrong again
	for line := range bytes.Lines(b) {
		switch _, sum := snapshot.Cut(bytes.Clone(bytes.TrimRight(line, "\r\n"))); sum {
		case snapshot.Sound, snapshot.Spoilt:
			s.Sums = true
			return
		case snapshot.SoundFirst:
			return
		}
	}
}

// Next finds the next line that is not blank. It returns io.EOF after the last one.
func (s *Scanner) Next() (Entry, error) {
	for {
		b, size, err := s.read()
		if err != nil {
			return Entry{}, err
		}
		e := Entry{Start: s.At, Raw: bytes.TrimRight(b, "\r\n")}
		s.At += size
		e.End = s.At
		if size > MostLine {
			e.Bad = fmt.Sprintf("the line has %d bytes, more than any line of a journal", size)
			s.lost++
			return e, nil
		}
		if len(bytes.TrimSpace(e.Raw)) > 0 {
			s.judge(&e)
			return e, nil
		}
	}
}

// MostKept is how much is kept of one damaged line, in bytes.
const MostKept = 64 << 10

// MostLine is how long a line of a journal is at most, in bytes. One that is longer, as in a file that is
// damaged or was put there by others, is not kept in memory; one that would be longer is not written.
const MostLine = 128 << 20

// read returns the next line with its end, and its length. Of one longer than [MostLine] it returns the beginning.
func (s *Scanner) read() (line []byte, size int64, err error) {
	s.long = s.long[:0]
	for {
		b, err := s.br.ReadSlice('\n')
		size += int64(len(b))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if size <= MostLine {
				s.long = append(s.long, b...)
			} else if len(s.long) > MostKept {
				s.long = slices.Clone(s.long[:MostKept])
			}
		case err != nil:
			return nil, size, err
		case size > MostLine:
			return s.long, size, nil
		case len(s.long) > 0:
			s.long = append(s.long, b...)
			return s.long, size, nil
		default:
			return b, size, nil
		}
	}
}

func (s *Scanner) judge(e *Entry) {
	object, sum := snapshot.Cut(e.Raw)
	switch {
	case sum == snapshot.Spoilt:
		e.Bad = "the checksum of the line does not hold"
	case sum == snapshot.Unsummed && s.Sums:
		e.Bad = "the line has no checksum"
	default:
		s.Sums = sum != snapshot.Unsummed
		e.Line = Split(object)
		s.take(e)
	}
	if e.Bad == "" {
		return
	}
	s.lost++
	if sum != snapshot.Unsummed && sum != snapshot.Spoilt {
		object[len(object)-1] = ',' // as it was
	}
}

// take reads what is needed of a line.
func (s *Scanner) take(e *Entry) {
	if !s.parse && (s.Sums || IsOutput(e.Event)) {
		e.Seq = Seq(e.Event)
	} else {
		var err error
		if e.parsed, err = fsm.ParseEvent(e.Event); err != nil {
			e.Bad = err.Error()
			return
		}
		e.Seq = e.parsed.Seq
	}
	s.number(e)
}

// number looks at the place of an event among the others. Those of little-loops carry no number.
func (s *Scanner) number(e *Entry) {
	e.Numbered = e.Seq > 0
	want := s.Last + 1
	switch {
	case !e.Numbered:
		e.Seq = want
	case s.AnyNext || e.Seq == want:
	case e.Seq < want:
		e.Bad = fmt.Sprintf("event %d follows event %d", e.Seq, s.Last)
		return
	case e.Seq-want > s.lost:
		e.Missing = Missing(want, e.Seq-1)
	}
	s.Last, s.lost, s.AnyNext = e.Seq, 0, false
}

// Missing says which events are missing.
func Missing(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("event %d is missing", from)
	}
	return fmt.Sprintf("events %d to %d are missing", from, to)
}
