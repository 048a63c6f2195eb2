package dirstore

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

// A lineScanner goes through the whole lines of one file of a journal and says which of them can be believed: by their
// checksum, or for lines without one by their form, and by their number, which is one more than that of the line before.
// What stands behind the last line end is no line.
type lineScanner struct {
	br    *bufio.Reader
	parse bool // make the events, too

	at      int64  // end of the last line
	last    uint64 // number of the last event that was believed
	anyNext bool   // the number of the next event is not known
	sums    bool   // the lines have checksums from here on
	lost    uint64 // damaged lines since the last that was believed
	long    []byte
}

// An entry is one line as a lineScanner sees it. Its bytes are valid until the next line.
type entry struct {
	line
	raw        []byte // without the line end
	parsed     fsm.Event
	seq        uint64 // also for events that carry none
	numbered   bool   // the event carries its number
	start, end int64
	bad        string // why it cannot be believed; "" = it can
	missing    string // which events are missing before it; "" = none but those of damaged lines
}

// newScanner goes on behind the event with a number, at an offset. sums says whether the line before that has a
// checksum.
func newScanner(r io.Reader, at int64, last uint64, sums bool) *lineScanner {
	s := &lineScanner{br: bufio.NewReaderSize(r, 64<<10), at: at, last: last, sums: sums}
	if !sums {
		s.lookAhead()
	}
	return s
}

// lookAhead finds out whether the first lines have a checksum: if the first that has one says that others may stand
// before it, or if there is none, they need none.
func (s *lineScanner) lookAhead() {
	b, _ := s.br.Peek(s.br.Size()) // what goes wrong goes wrong again
	for line := range bytes.Lines(b) {
		switch _, sum := snapshot.Cut(bytes.Clone(bytes.TrimRight(line, "\r\n"))); sum {
		case snapshot.Sound, snapshot.Spoilt:
			s.sums = true
			return
		case snapshot.SoundFirst:
			return
		}
	}
}

// next finds the next line that is not blank. It returns io.EOF behind the last one.
func (s *lineScanner) next() (entry, error) {
	for {
		b, size, err := s.read()
		if err != nil {
			return entry{}, err
		}
		e := entry{start: s.at, raw: bytes.TrimRight(b, "\r\n")}
		s.at += size
		e.end = s.at
		if size > mostLine {
			e.bad = fmt.Sprintf("the line has %d bytes, more than any line of a journal", size)
			s.lost++
			return e, nil
		}
		if len(bytes.TrimSpace(e.raw)) > 0 {
			s.judge(&e)
			return e, nil
		}
	}
}

// mostLine is how long a line of a journal is at most, in bytes. One that is longer, as in a file that is damaged or was put
// there by others, is not kept in memory; one that would be longer is not written.
const mostLine = 128 << 20

// read returns the next line with its end, and its length. Of one longer than mostLine it returns the beginning.
func (s *lineScanner) read() (line []byte, size int64, err error) {
	s.long = s.long[:0]
	for {
		b, err := s.br.ReadSlice('\n')
		size += int64(len(b))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if size <= mostLine {
				s.long = append(s.long, b...)
			} else if len(s.long) > maxAside {
				s.long = slices.Clone(s.long[:maxAside])
			}
		case err != nil:
			return nil, size, err
		case size > mostLine:
			return s.long, size, nil
		case len(s.long) > 0:
			s.long = append(s.long, b...)
			return s.long, size, nil
		default:
			return b, size, nil
		}
	}
}

func (s *lineScanner) judge(e *entry) {
	object, sum := snapshot.Cut(e.raw)
	switch {
	case sum == snapshot.Spoilt:
		e.bad = "the checksum of the line does not hold"
	case sum == snapshot.Unsummed && s.sums:
		e.bad = "the line has no checksum"
	default:
		s.sums = sum != snapshot.Unsummed
		e.line = splitLine(object)
		s.take(e)
	}
	if e.bad == "" {
		return
	}
	s.lost++
	if sum != snapshot.Unsummed && sum != snapshot.Spoilt {
		object[len(object)-1] = ',' // as it was
	}
}

// take reads what is needed of a line.
func (s *lineScanner) take(e *entry) {
	if !s.parse && (s.sums || isOutput(e.event)) {
		e.seq = seqOf(e.event)
	} else {
		var err error
		if e.parsed, err = fsm.ParseEvent(e.event); err != nil {
			e.bad = err.Error()
			return
		}
		e.seq = e.parsed.Seq
	}
	s.number(e)
}

// number looks at the place of an event among the others. Those of the reference tool carry no number.
func (s *lineScanner) number(e *entry) {
	e.numbered = e.seq > 0
	want := s.last + 1
	switch {
	case !e.numbered:
		e.seq = want
	case s.anyNext || e.seq == want:
	case e.seq < want:
		e.bad = fmt.Sprintf("event %d stands behind event %d", e.seq, s.last)
		return
	case e.seq-want > s.lost:
		e.missing = missing(want, e.seq-1)
	}
	s.last, s.lost, s.anyNext = e.seq, 0, false
}

func missing(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("event %d is missing", from)
	}
	return fmt.Sprintf("events %d to %d are missing", from, to)
}
