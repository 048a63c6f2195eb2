package snapshot

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A Writer appends flat objects and patches to Buf. It is for a store that lays them between bytes of its own,
// as the lines of a journal are; others use an [Encoder]. It is used by one goroutine, and keeps its buffers
// and what large records became.
type Writer struct {
	Buf   []byte // what was written; it may be cut and appended to
	Err   error  // about the first large text that could not be put apart
	Brief bool   // long logs of sub-loops are only counted
	Whole int64  // where in the journal the batch with the last whole memory begins, for the logs that are counted

	large *largeTexts // nil keeps large texts where they are
	names []string    // for sorting some

	// cache, if not nil, has the records as they were last written, which never change; see fsm.Batch.
	cache map[*value.Map]*piece
	round int
}

// NewWriter returns a Writer that puts large texts into texts; nil keeps them where they are.
func NewWriter(texts Texts) *Writer {
	e := &Writer{}
	if texts != nil {
		e.large = &largeTexts{in: texts}
	}
	return e
}

// Remembers has the Writer keep large records as they were written. It is for a caller that writes all of them again
// and again, and calls Sweep behind each time.
func (e *Writer) Remembers() { e.cache = make(map[*value.Map]*piece) }

// Kept returns how many records it keeps.
func (e *Writer) Kept() int { return len(e.cache) }

type piece struct {
	text  []byte
	round int // of encoding in which it was last needed
}

// cacheFrom is the size from which a record's text is kept, and not written again each time.
const cacheFrom = 512

// Open begins an object with {, or a list with [.
func (e *Writer) Open(c byte) { e.Buf = append(e.Buf, c) }

// Close ends one with } or ].
func (e *Writer) Close(c byte) bool {
	e.Buf = append(e.Buf, c)
	return true
}

// item begins the next element of a list or an object.
func (e *Writer) item() {
	if c := e.Buf[len(e.Buf)-1]; c != '{' && c != '[' {
		e.Buf = append(e.Buf, ", "...)
	}
}

// Key writes the next key of an object.
func (e *Writer) Key(k string) {
	e.item()
	e.text(k)
	e.Buf = append(e.Buf, ": "...)
}

// text writes a text. It is [value.AppendJSON] for what most texts are, which then need no memory of their own.
func (e *Writer) text(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			e.Buf = value.AppendJSON(e.Buf, s)
			return true
		}
	}
	e.Buf = append(append(append(e.Buf, '"'), s...), '"')
	return true
}

func (e *Writer) int(n int) bool {
	e.Buf = strconv.AppendInt(e.Buf, int64(n), 10)
	return true
}

// Short writes a text that is not too long to copy it, and any other as value does.
func (e *Writer) Short(s string) bool {
	if len(s) > LargeFrom {
		return e.Value(s)
	}
	return e.text(s)
}

// keyOf writes the key of a field.
func (e *Writer) keyOf(f *field) {
	e.item()
	e.Buf = append(e.Buf, f.quoted...)
}

// Entry writes a key and what put writes, or nothing if put says so.
func (e *Writer) Entry(key string, put func() bool) {
	n := len(e.Buf)
	e.Key(key)
	if !put() {
		e.Buf = e.Buf[:n]
	}
}

// Field writes one of the [Keys] with its value, unless the memory has none.
func (e *Writer) Field(i int, s *fsm.Snapshot) { e.field(&layout[i], s) }

// Memory writes all of a memory as an object.
func (e *Writer) Memory(s *fsm.Snapshot) { appendMemory(e, s) }

// Patch writes the difference between two memories as an object; see patch.go.
func (e *Writer) Patch(now, before *fsm.Snapshot) { appendPatch(e, now, before) }

func (e *Writer) field(f *field, s *fsm.Snapshot) {
	n := len(e.Buf)
	e.keyOf(f)
	if !f.put(e, s) {
		e.Buf = e.Buf[:n]
	}
}

// Time writes a time.
func (e *Writer) Time(t time.Time) bool {
	e.Buf = append(e.Buf, '"')
	e.Buf = t.UTC().AppendFormat(e.Buf, "2006-01-02T15:04:05.000000+00:00")
	e.Buf = append(e.Buf, '"')
	return true
}

// Value writes a value of the language; large texts in it go to files of their own.
func (e *Writer) Value(v any) bool {
	switch x := v.(type) {
	case string:
		if len(x) > LargeFrom && e.large != nil {
			return e.blob(x)
		}
		return e.text(x)
	case *value.Map:
		if !e.special(x) {
			break
		}
		if isReference(x) {
			e.Open('{')
			e.Key(literalKey)
			defer e.Close('}')
		}
		e.Open('{')
		for _, k := range x.Keys() {
			e.Key(k)
			y, _ := x.Get(k)
			e.Value(y)
		}
		return e.Close('}')
	case []any:
		if !e.special(x) {
			break
		}
		e.Open('[')
		for _, y := range x {
			e.item()
			e.Value(y)
		}
		return e.Close(']')
	}
	e.Buf = value.AppendJSON(e.Buf, v)
	return true
}

// special reports whether something in v is not written as it is: a text that needs a file of its own, or an object
// that would be read as a reference to one.
func (e *Writer) special(v any) bool {
	if e.large == nil {
		return false
	}
	switch x := v.(type) {
	case string:
		return len(x) > LargeFrom
	case *value.Map:
		if isReference(x) {
			return true
		}
		for _, k := range x.Keys() {
			if y, _ := x.Get(k); e.special(y) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, e.special)
	}
	return false
}

func (e *Writer) texts(l []string) bool {
	e.Open('[')
	for _, s := range l {
		e.item()
		e.Value(s)
	}
	return e.Close(']')
}

// records writes a map of records.
func (e *Writer) records(m *value.Map) bool {
	e.Open('{')
	for _, k := range m.Keys() {
		e.Key(k)
		v, _ := m.Get(k)
		e.record(v)
	}
	return e.Close('}')
}

// record writes a record, which never changes, from memory if it was written before.
func (e *Writer) record(v any) bool {
	m, ok := v.(*value.Map)
	if !ok {
		return e.Value(v)
	}
	if p := e.cache[m]; p != nil {
		p.round = e.round
		e.Buf = append(e.Buf, p.text...)
		return true
	}
	n := len(e.Buf)
	e.Value(m)
	if e.cache != nil && len(e.Buf)-n >= cacheFrom {
		e.cache[m] = &piece{text: bytes.Clone(e.Buf[n:]), round: e.round}
	}
	return true
}

// Sweep forgets the records that the last whole state did not need.
func (e *Writer) Sweep() {
	for m, p := range e.cache {
		if p.round != e.round {
			delete(e.cache, m)
		}
	}
	e.round++
}

// AppendIndented lays one line of JSON out over many, as little-loops writes its state files.
func AppendIndented(dst, line []byte) []byte {
	depth := 0
	newline := func() {
		dst = append(dst, '\n')
		for range depth {
			dst = append(dst, "  "...)
		}
	}
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '"':
			j := i + 1
			for line[j] != '"' {
				if line[j] == '\\' {
					j++
				}
				j++
			}
			dst = append(dst, line[i:j+1]...)
			i = j
		case '{', '[':
			dst = append(dst, c)
			if line[i+1] == c+2 { // {} and [] stay together
				dst = append(dst, c+2)
				i++
				break
			}
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			newline()
			i++ // the blank after it
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}
