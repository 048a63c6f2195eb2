// Package report writes what a run did, and what is wrong with loop files, in the forms that others read: a
// page of HTML, JUnit XML, Markdown, SARIF and the commands of a job of GitHub Actions. A file is named by its
// form. The package is pure, and its memory does not grow with the length of a run.
package report

import (
	"strings"
	"time"

	"loops/internal/inspect"
)

// A Step is one visit of a state, as every form has it.
type Step struct {
	Number  string // its address: 3, and 3/1 in a sub-loop of it
	Depth   int    // 0 in the run itself, 1 in its sub-loop …
	State   string
	Exit    string // exit code of its action; "" where nothing was done
	Verdict string
	To      string        // where it led
	Took    time.Duration // by the clock of the run
	Cost    string        // for a person; set by the caller

	visit *inspect.Visit // until it is over
}

// finish takes from the visit what is reported of it as a whole, and returns what else was between its begin and its
// end.
func (s *Step) finish() (apart string) {
	s.Took, apart = s.visit.Took(), s.visit.Apart()
	s.visit = nil
	return apart
}

// An ends is the first steps of a run and its last ones.
type ends[S any] struct {
	mostFirst, mostLast int

	first, ring []S
	next        int // in ring, once it is full
	count       int // of all steps
}

func (k *ends[S]) add(s S) {
	k.count++
	switch {
	case len(k.first) < k.mostFirst:
		k.first = append(k.first, s)
	case len(k.ring) < k.mostLast:
		k.ring = append(k.ring, s)
	default:
		k.ring[k.next] = s
		k.next = (k.next + 1) % k.mostLast
	}
}

// last returns the last steps, in their order.
func (k *ends[S]) last() []S {
	return append(append([]S(nil), k.ring[k.next:]...), k.ring[:k.next]...)
}

// missing is how many steps were between the first and the last ones.
func (k *ends[S]) missing() int { return k.count - len(k.first) - len(k.ring) }

// An output keeps the beginning and the end of a text.
type output struct {
	head, tail []byte
	size       int
}

// line adds a text with a line end, where mostHead and mostTail bytes are kept.
func (o *output) line(s string, mostHead, mostTail int) {
	if s == "" {
		return
	}
	s += "\n"
	o.size += len(s)
	if n := min(mostHead-len(o.head), len(s)); n > 0 {
		o.head = append(o.head, s[:n]...)
		s = s[n:]
	}
	s = s[max(0, len(s)-mostTail):]
	o.tail = append(o.tail, s...)
	if extra := len(o.tail) - mostTail; extra > mostTail {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// parts returns what was kept, and how many bytes are missing between the two.
func (o *output) parts(mostTail int) (head, tail string, missing int) {
	kept := o.tail[max(0, len(o.tail)-mostTail):]
	return string(o.head), string(kept), o.size - len(o.head) - len(kept)
}

// firstLine returns the first line of a text, cut to 400 bytes.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, more, cut := strings.Cut(s, "\n")
	if cut && more != "" {
		line += " …"
	}
	if len(line) > 400 {
		line = strings.ToValidUTF8(line[:400], "") + "…"
	}
	return line
}
