package action

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"loops/internal/host"
)

const (
	longestLine = 8 << 20 // of a host; a longer one is left out
	rawMost     = 4 << 10 // of what a host printed, in a Reply
	lateMost    = 64 << 10
	doneGrace   = 5 * time.Second
)

// A talk reads what a host prints: every line goes to the log and to the host's Stream, and the text the Stream
// finds in it becomes the output of the action.
type talk struct {
	*prompt
	stream host.Stream
	log    rawLog

	pend    []byte // a line whose end has not come
	dropped int64  // bytes of a line that is too long
	raw     []byte // the beginning of it all
	isDone  bool
	doneAt  time.Time // last byte, or the host's last event
	late    []byte    // standard error since it was asked to stop: it is about that, and only for the log
	chunk   [32 << 10]byte
}

func newTalk(p *prompt, create func() (*os.File, error)) *talk {
	return &talk{prompt: p, stream: p.host.Stream(p.req), log: rawLog{create: create}}
}

// feed takes the next piece of standard output, and calls take with the text in it.
func (t *talk) feed(b []byte, now time.Time, take func([]byte)) {
	if n := min(rawMost-len(t.raw), len(b)); n > 0 {
		t.raw = append(t.raw, b[:n]...)
	}
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		line := b
		if i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		switch {
		case t.dropped > 0 || len(t.pend)+len(line) > longestLine:
			t.dropped += int64(len(t.pend) + len(line))
			t.pend = nil
			if i >= 0 {
				t.leaveOut()
			}
		case i < 0:
			t.pend = append(t.pend, line...)
		case len(t.pend) > 0:
			t.pend = append(t.pend, line...)
			t.line(t.pend, take)
			t.rest()
		default:
			t.line(line, take)
		}
	}
	if !t.isDone && t.stream.Done() {
		t.isDone, t.doneAt = true, now
	}
}

// rest keeps the memory of an ordinary line for the next.
func (t *talk) rest() {
	if cap(t.pend) > 1<<20 {
		t.pend = nil
	}
	t.pend = t.pend[:0]
}

func (t *talk) leaveOut() {
	t.log.note(fmt.Sprintf("a line of %d bytes was left out: no more than %d are read", t.dropped, longestLine))
	t.dropped = 0
}

// end takes the end of standard output.
func (t *talk) end(now time.Time, take func([]byte)) {
	switch {
	case t.dropped > 0:
		t.leaveOut()
	case len(t.pend) > 0:
		t.line(t.pend, take)
		t.pend = nil
	}
	if !t.isDone && t.stream.Done() {
		t.isDone, t.doneAt = true, now
	}
	if len(t.late) > 0 {
		t.log.note("standard error after it was asked to stop:")
		t.log.line(bytes.TrimSuffix(t.late, []byte("\n")))
	}
	t.log.end()
}

func (t *talk) line(line []byte, take func([]byte)) {
	t.log.line(line)
	text, _ := t.stream.Line(bytes.TrimSuffix(line, []byte("\r")))
	for len(text) > 0 {
		n := copy(t.chunk[:], text)
		text = text[n:]
		take(t.chunk[:n])
	}
}

// done says whether the host has said its last word. A nil talk never has.
func (t *talk) done() bool { return t != nil && t.isDone }
