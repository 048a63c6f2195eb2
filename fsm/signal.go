package fsm

import (
	"strings"
	"unicode/utf8"

	"loops/fsm/value"
)

// maxPayload is how much of a signal's text is kept, in bytes.
const maxPayload = 64 << 10

// A SignalScanner finds text signals in the standard output of an action, fed in pieces of any size. Its memory
// is bounded by three payloads of 64 KiB. The zero value is ready. It is not safe for concurrent use.
type SignalScanner struct {
	marks [3]markScanner
}

// signalMarks are the kinds of signal, the weightiest first. An empty payload is enough for a stop only.
var signalMarks = [3]struct{ kind, marker string }{
	{"handoff", "CONTEXT_HANDOFF:"}, {"error", "FATAL_ERROR:"}, {"stop", "LOOP_STOP:"},
}

// Write takes the next piece of output.
func (s *SignalScanner) Write(text string) {
	for i := range s.marks {
		s.marks[i].write(text, signalMarks[i].marker)
	}
}

// Signal returns what was found in everything written so far, taken as the whole output: the first signal of
// the weightiest kind (handoff, then error, then stop) and the rest of its line, or of the first line after it
// that is not blank.
func (s *SignalScanner) Signal() (kind, payload string, found bool) {
	for i := range s.marks {
		m := &s.marks[i]
		kind := signalMarks[i].kind
		if m.phase == markSearch || m.phase == markBlank && kind != "stop" && !m.room && len(m.part) == 0 {
			continue
		}
		text := strings.ToValidUTF8(string(m.part)+string(m.payload), "\ufffd")
		return kind, value.TrimSpace(text), true
	}
	return "", "", false
}

type markPhase int

const (
	markSearch  markPhase = iota // for the marker
	markBlank                    // over the white space after it
	markPayload                  // to the end of the line
	markDone
)

// A markScanner follows the first occurrence of one marker.
type markScanner struct {
	phase   markPhase
	n       int    // bytes of the marker seen at the end of the last piece
	part    []byte // an unfinished character in the white space
	room    bool   // there was white space that a line can hold, which is a payload of a kind: an empty one
	payload []byte
}

func (m *markScanner) write(text, marker string) {
	if m.phase == markSearch {
		text = m.search(text, marker)
	}
	if m.phase == markBlank {
		text = m.skip(text)
	}
	if m.phase == markPayload {
		line, _, ended := strings.Cut(text, "\n")
		if ended {
			m.phase = markDone
		}
		if free := maxPayload - len(m.payload); len(line) > free {
			line = line[:free]
		}
		m.payload = append(m.payload, line...)
	}
}

// search returns what follows the marker. The first character of a marker occurs in it only once, so a failed match
// can begin again only at that character.
func (m *markScanner) search(text, marker string) string {
	if m.n > 0 {
		k := 0
		for k < len(text) && m.n < len(marker) && text[k] == marker[m.n] {
			k++
			m.n++
		}
		if m.n == len(marker) {
			m.phase = markBlank
			return text[k:]
		}
		if k == len(text) {
			return ""
		}
		m.n = 0
	}
	if i := strings.Index(text, marker); i >= 0 {
		m.phase = markBlank
		return text[i+len(marker):]
	}
	tail := text[max(0, len(text)-len(marker)+1):]
	if i := strings.LastIndexByte(tail, marker[0]); i >= 0 && strings.HasPrefix(marker, tail[i:]) {
		m.n = len(tail) - i
	}
	return ""
}

// skip returns the text from the first character on that is no white space.
func (m *markScanner) skip(text string) string {
	for len(m.part) > 0 && text != "" { // finish the character the last piece began
		m.part = append(m.part, text[0])
		text = text[1:]
		if utf8.FullRune(m.part) {
			text = string(m.part) + text
			m.part = nil
		}
	}
	for text != "" {
		if !utf8.FullRuneInString(text) {
			m.part = []byte(text)
			return ""
		}
		r, size := utf8.DecodeRuneInString(text)
		if !value.IsSpace(r) {
			m.phase = markPayload
			return text
		}
		m.room = m.room || r != '\n'
		text = text[size:]
	}
	return ""
}
