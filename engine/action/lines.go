package action

import (
	"bytes"
	"time"
)

// How output is passed on while an action runs.
const (
	batchTime = 20 * time.Millisecond // a line waits so long for others
	batchSize = 64 << 10              // unless so many bytes wait
	longLine  = 1 << 20               // a line longer than this is passed on in pieces, so that memory is bounded
)

// lines gathers text into pieces of whole lines.
type lines struct {
	out   func(string) // nil drops everything
	pend  []byte
	whole int       // pend[:whole] ends a line
	since time.Time // when the first whole line of pend came
}

func (l *lines) add(b []byte, now time.Time) {
	if l.out == nil || len(b) == 0 {
		return
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		if l.whole == 0 {
			l.since = now
		}
		l.whole = len(l.pend) + i + 1
	}
	l.pend = append(l.pend, b...)
	if l.whole >= batchSize {
		l.pass()
	}
	if len(l.pend)-l.whole > longLine {
		l.pass()
		l.out(string(l.pend)) // text comes in whole characters
		l.pend = l.pend[:0]
	}
}

// due returns how long the available lines may still wait; ok is false where there are none.
func (l *lines) due(now time.Time) (wait time.Duration, ok bool) {
	return max(0, batchTime-now.Sub(l.since)), l.whole > 0
}

// pass passes the whole lines on.
func (l *lines) pass() {
	if l.whole == 0 {
		return
	}
	text := string(l.pend[:l.whole-1])
	l.pend = l.pend[:copy(l.pend, l.pend[l.whole:])]
	l.whole = 0
	l.out(text)
}

// end passes everything on, without the last line end.
func (l *lines) end() {
	if n := len(l.pend); n > 0 {
		l.whole = n + 1
		if l.pend[n-1] == '\n' {
			l.whole = n
		} else {
			l.pend = append(l.pend, '\n')
		}
		l.pass()
	}
}
