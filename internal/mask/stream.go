package mask

import "bytes"

// mostPending is how long a line may be that is masked whole. Of a longer one, a secret that stands across the end
// of a piece is found if it is not longer than overlap.
const (
	mostPending = 256 << 10
	overlap     = 8 << 10
)

// A Stream masks bytes that come in pieces. It holds back the end of a line until the line is whole, and the lines
// of a private key until the first that is none of them.
type Stream struct {
	masker *Masker
	again  bool // what comes was masked before: the placeholders in it are ours
	pend   []byte
	key    int // lines of a private key that came
}

// NewStream returns a Stream; of a nil Masker, it passes everything on.
func NewStream(m *Masker) Stream { return Stream{masker: m} }

// NewAgain returns a Stream for what was masked before: the placeholders in it are ours.
func NewAgain(m *Masker) Stream { return Stream{masker: m, again: true} }

// Feed takes the next piece and returns what may be passed on. It is valid until the next call.
func (s *Stream) Feed(b []byte) []byte { return s.FeedAfter(b, 0) }

// FeedAfter is Feed of the piece buf[at:]. What is before it in buf may be overwritten: the end of a line that was held
// back goes there, so that the piece is not copied.
func (s *Stream) FeedAfter(buf []byte, at int) []byte {
	b := buf[at:]
	if s.masker == nil {
		return b
	}
	end := linesEnd(b)
	if from := at - len(s.pend); from >= 0 && end > 0 {
		copy(buf[from:], s.pend)
		out := s.whole(buf[from : at+end])
		s.pend = append(s.pend[:0], b[end:]...)
		return out
	}
	s.pend = append(s.pend, b...)
	switch n := len(s.pend) - len(b) + end; {
	case end > 0:
		return s.pass(n)
	case len(s.pend) > mostPending:
		return s.pass(len(s.pend) - overlap)
	}
	return nil
}

// linesEnd returns where the last line of b that is whole ends; 0 = none is.
func linesEnd(b []byte) int {
	end := afterLast(b, '\n')
	return end + afterLast(b[end:], '\r')
}

// afterLast returns what follows the last c; 0 = there is none. Looking forward is many times faster, so it
// does that in steps.
func afterLast(b []byte, c byte) int {
	const step = 4 << 10
	for to := len(b); to > 0; to -= min(step, to) {
		from := max(0, to-step)
		if i := bytes.IndexByte(b[from:to], c); i >= 0 {
			return from + i + bytes.LastIndexByte(b[from+i:to], c) + 1
		}
	}
	return 0
}

// pass masks the first n bytes of what is pending, and what reaches over them.
func (s *Stream) pass(n int) []byte {
	text := s.pend[:n:n]
	rest := bytes.Clone(s.pend[n:])
	if len(rest) > 0 && text[n-1] != '\n' && text[n-1] != '\r' {
		// a secret may stand across the cut: cut at the end of the last one that begins before it
		hits, _ := s.masker.hits(s.pend)
		for _, h := range hits {
			if h.from < n && h.to > n {
				text, rest = s.pend[:h.to:h.to], bytes.Clone(s.pend[h.to:])
			}
		}
	}
	out := s.whole(text)
	s.pend = rest
	return out
}

// mostKeyLines is how many lines a private key has at most.
const mostKeyLines = 200

// whole masks lines that are whole.
func (s *Stream) whole(b []byte) []byte {
	var out []byte
	for s.key > 0 && len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		text := bytes.TrimRight(line, "\r")
		if !isKeyLine(text) || s.key > mostKeyLines {
			s.key = 0
			break
		}
		s.key++
		if len(text) > 0 {
			s.masker.mu.Lock()
			out = append(out, s.masker.replacement(string(text), hit{shape: keyShape})...)
			s.masker.mu.Unlock()
		}
		out = append(out, line[len(text):]...)
		if ended {
			out = append(out, '\n')
		}
		b = rest
	}
	masked, _, header := s.masker.mask(b, !s.again)
	if header && keyOpen(b) {
		s.key = 1
	}
	if out == nil {
		return masked
	}
	return append(out, masked...)
}

// keyOpen reports whether b ends within the lines of a private key.
func keyOpen(b []byte) bool {
	i := bytes.LastIndex(b, []byte("PRIVATE KEY-----"))
	if i < 0 || !bytes.Contains(b[max(0, i-48):i], []byte("-----BEGIN ")) ||
		bytes.Contains(b[i:], []byte("-----END ")) {
		return false
	}
	after := b[i+len("PRIVATE KEY-----"):]
	lines := bytes.TrimLeft(after, "\r\n")
	return len(lines) < len(after) &&
		!bytes.ContainsFunc(lines, func(r rune) bool { return r > 127 || !keyText[byte(r)] })
}

// isKeyLine reports whether a line may be one of a private key: base64 alone.
func isKeyLine(line []byte) bool {
	for _, c := range line {
		if !keyText[c] || c == '\\' {
			return false
		}
	}
	return len(line) == 0 || len(line) >= 16 || bytes.HasSuffix(line, []byte("="))
}

var keyShape, addressShape = &shapes[len(shapes)-1], &shapes[len(shapes)-2]

// End returns the rest.
func (s *Stream) End() []byte {
	if s.masker == nil || len(s.pend) == 0 {
		return nil
	}
	out := s.whole(s.pend)
	s.pend = nil
	return out
}
