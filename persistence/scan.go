package persistence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"loops/fsm"
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
	sums    bool   // a line with a checksum was seen: all behind it have one
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

func newScanner(r io.Reader, at int64, last uint64) *lineScanner {
	return &lineScanner{br: bufio.NewReaderSize(r, 64<<10), at: at, last: last}
}

// next finds the next line that is not blank. It returns io.EOF behind the last one.
func (s *lineScanner) next() (entry, error) {
	for {
		b, err := s.read()
		if err != nil {
			return entry{}, err
		}
		e := entry{start: s.at, raw: bytes.TrimRight(b, "\r\n")}
		s.at += int64(len(b))
		e.end = s.at
		if len(bytes.TrimSpace(e.raw)) > 0 {
			s.judge(&e)
			return e, nil
		}
	}
}

// read returns the next line with its end.
func (s *lineScanner) read() ([]byte, error) {
	s.long = s.long[:0]
	for {
		b, err := s.br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			s.long = append(s.long, b...)
		case err != nil:
			return nil, err
		case len(s.long) > 0:
			s.long = append(s.long, b...)
			return s.long, nil
		default:
			return b, nil
		}
	}
}

func (s *lineScanner) judge(e *entry) {
	object, has, ok := cutSum(e.raw)
	if !ok {
		e.bad = "the checksum of the line does not hold"
		s.lost++
		return
	}
	e.line = splitLine(object)
	if s.parse || !has && !isOutput(e.event) {
		var err error
		if e.parsed, err = fsm.ParseEvent(e.event); err != nil {
			e.bad = err.Error()
		}
		e.seq = e.parsed.Seq
	} else {
		e.seq = seqOf(e.event)
	}
	switch {
	case e.bad != "":
	case !has && s.sums && e.seq > 0: // lines of the reference tool have neither
		e.bad = "the line has lost its checksum"
	default:
		s.sums = s.sums || has
		s.number(e)
	}
	if e.bad != "" {
		s.lost++
		if has {
			object[len(object)-1] = ',' // as it was
		}
	}
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
		if e.missing = fmt.Sprintf("events %d to %d are missing", want, e.seq-1); e.seq-1 == want {
			e.missing = fmt.Sprintf("event %d is missing", want)
		}
	}
	s.last, s.lost, s.anyNext = e.seq, 0, false
}
