package action

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"loops/internal/agent"
	"loops/internal/mask"
)

const (
	longestLine = 8 << 20 // of a host: tool results and images of some megabytes are in one; a longer one is skipped
	rawMost     = 4 << 10 // of what a host printed, in a Reply
	lateMost    = 64 << 10
	doneGrace   = 5 * time.Second
)

// A talk reads what a host prints: every line goes to the log and to the host's Stream, and the text the Stream
// finds in it becomes the output of the action.
type talk struct {
	*prompt
	stream agent.Stream
	mask   mask.Stream // of the text in it
	log    rawLog
	pace   *pace

	pend    []byte // a line whose end has not come
	dropped int64  // bytes of a line that is too long
	skipped int    // lines that were too long
	longest int64  // bytes of the longest of them
	lost    bool   // the host said nothing after the last of them, neither a text nor its last word
	raw     []byte // the beginning of it all
	isDone  bool
	doneAt  time.Time // last byte, or the host's last event
	late    []byte    // standard error since it was asked to stop: it is about that, and only for the log
	chunk   [32 << 10]byte
}

func newTalk(p *prompt, m *mask.Masker, create func() (*os.File, error)) *talk {
	return &talk{prompt: p, stream: p.host.Stream(p.req), mask: mask.NewAgain(m), log: rawLog{create: create}}
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
			t.pend = t.pend[:0]
			if i >= 0 {
				t.skip()
			}
		case i < 0:
			t.hold(line)
		case len(t.pend) > 0:
			t.hold(line)
			t.line(t.pend, take)
			t.pend = t.pend[:0]
		default:
			t.line(line, take)
		}
	}
	if !t.isDone && t.stream.Done() {
		t.isDone, t.doneAt = true, now
	}
	t.pace.look(now)
}

// hold keeps a part of a line until the rest comes. The memory of a long line is used for the next, and is as much as
// the longest may need where it is more than a megabyte: a host that prints one such line prints many.
func (t *talk) hold(part []byte) {
	if need := len(t.pend) + len(part); need > cap(t.pend) && need > 1<<20 {
		t.pend = append(make([]byte, 0, longestLine), t.pend...)
	}
	t.pend = append(t.pend, part...)
}

// skip is called at the end of a line that was too long to be read.
func (t *talk) skip() {
	t.log.note(fmt.Sprintf("a line of %d bytes was skipped: no more than %d are read", t.dropped, longestLine))
	t.skipped++
	t.longest = max(t.longest, t.dropped)
	t.dropped, t.lost = 0, !t.isDone
}

// skippedText says which lines were too long; "" if none was.
func (t *talk) skippedText() string {
	switch t.skipped {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 line of %d bytes, more than the %d that are read of one", t.longest, longestLine)
	}
	return fmt.Sprintf("%d lines of up to %d bytes, more than the %d that are read of one", t.skipped, t.longest,
		longestLine)
}

// end takes the end of standard output.
func (t *talk) end(now time.Time, take func([]byte)) {
	switch {
	case t.dropped > 0:
		t.skip()
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
	t.lost = t.lost && text == ""
	for len(text) > 0 {
		n := copy(t.chunk[:], text)
		text = text[n:]
		take(t.chunk[:n])
	}
}

// done reports whether the host has said its last word. A nil talk never has.
func (t *talk) done() bool { return t != nil && t.isDone }
