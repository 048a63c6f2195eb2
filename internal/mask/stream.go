package mask

import "bytes"

// mostPending is how long a line may be that is masked whole. Of a longer one, a secret that stands across the end
// of a piece is found if it is not longer than overlap.
const (
	mostPending = 256 << 10
	overlap     = 8 << 10
)

// A Stream masks bytes that come in pieces. It holds back the end of a line until the line is whole.
type Stream struct {
	masker *Masker
	pend   []byte
	inKey  bool // the lines of a private key come
}

// NewStream returns a Stream; of a nil Masker, it passes everything on.
func NewStream(m *Masker) Stream { return Stream{masker: m} }

// Feed takes the next piece and returns what may be passed on. It is valid until the next call.
func (s *Stream) Feed(b []byte) []byte {
	if s.masker == nil {
		return b
	}
	end := bytes.LastIndexAny(b, "\n\r") + 1
	if len(s.pend) == 0 && end > 0 {
		out := s.whole(b[:end])
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

// pass masks the first n bytes of what is pending, and what reaches over them.
func (s *Stream) pass(n int) []byte {
	text := s.pend[:n:n]
	rest := bytes.Clone(s.pend[n:])
	if len(rest) > 0 && text[n-1] != '\n' && text[n-1] != '\r' {
		// a secret may stand across the cut: cut at the end of the last one that begins before it
		for _, h := range s.masker.hits(s.pend) {
			if h.from < n && h.to > n {
				text, rest = s.pend[:h.to:h.to], bytes.Clone(s.pend[h.to:])
			}
		}
	}
	out := s.whole(text)
	s.pend = append([]byte(nil), rest...)
	return out
}

func (m *Masker) hits(b []byte) []hit {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.find(b)
}

// whole masks lines that are whole.
func (s *Stream) whole(b []byte) []byte {
	var out []byte
	if s.inKey {
		end := bytes.Index(b, []byte("-----END "))
		if end < 0 {
			return s.keyLines(b)
		}
		s.inKey = false
		out, b = append(out, s.keyLines(b[:end])...), b[end:]
	}
	if i := lastIndex(b, "PRIVATE KEY-----"); i >= 0 && bytes.Contains(b[max(0, i-40):i], []byte("-----BEGIN ")) {
		s.inKey = !bytes.Contains(b[i:], []byte("-----END "))
	}
	masked := s.masker.Bytes(b)
	if out == nil {
		return masked
	}
	return append(out, masked...)
}

// lastIndex is [bytes.LastIndex] for what is rarely there: looking forward is twenty times faster.
func lastIndex(b []byte, text string) int {
	last := -1
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(text))
		if i < 0 {
			return last
		}
		last = from + i
		from = last + len(text)
	}
}

// keyLines replaces lines of a private key, and keeps their ends.
func (s *Stream) keyLines(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		text := bytes.TrimRight(line, "\r\n")
		if len(text) > 0 {
			s.masker.mu.Lock()
			out = append(out, s.masker.replacement(string(text), hit{shape: keyShape})...)
			s.masker.mu.Unlock()
		}
		out = append(out, line[len(text):]...)
	}
	return out
}

var keyShape = &shapes[len(shapes)-1]

// End returns what is left.
func (s *Stream) End() []byte {
	if s.masker == nil || len(s.pend) == 0 {
		return nil
	}
	out := s.whole(s.pend)
	s.pend = nil
	return out
}
