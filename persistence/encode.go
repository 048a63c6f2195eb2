package persistence

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// An encoder writes flat objects, patches and state files. It keeps its buffers and what large records became.
type encoder struct {
	buf   []byte
	blobs *blobs
	err   error    // the first large text that could not be stored
	names []string // for who sorts some
	brief bool     // long logs of sub-loops are only counted
	whole int64    // where in the journal the batch with the last whole memory begins

	// cache, if not nil, has the records as they were last written, which never change; see fsm.Batch. It is for who
	// writes all of them again and again, and calls sweep.
	cache map[*value.Map]*piece
	round int
}

type piece struct {
	text  []byte
	round int // of encoding in which it was last needed
}

// cacheFrom is the size from which a record's text is kept, and not written anew each time.
const cacheFrom = 512

func (e *encoder) open(c byte) { e.buf = append(e.buf, c) }

func (e *encoder) close(c byte) bool {
	e.buf = append(e.buf, c)
	return true
}

// item begins the next element of a list or an object.
func (e *encoder) item() {
	if c := e.buf[len(e.buf)-1]; c != '{' && c != '[' {
		e.buf = append(e.buf, ", "...)
	}
}

func (e *encoder) key(k string) {
	e.item()
	e.text(k)
	e.buf = append(e.buf, ": "...)
}

// text writes a text. It is [value.AppendJSON] for what most texts are, which then need no memory of their own.
func (e *encoder) text(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			e.buf = value.AppendJSON(e.buf, s)
			return true
		}
	}
	e.buf = append(append(append(e.buf, '"'), s...), '"')
	return true
}

func (e *encoder) int(n int) bool {
	e.buf = strconv.AppendInt(e.buf, int64(n), 10)
	return true
}

// short writes a text that is not too long to copy it, and any other as value does.
func (e *encoder) short(s string) bool {
	if len(s) > blobFrom {
		return e.value(s)
	}
	return e.text(s)
}

// keyOf writes the key of a field.
func (e *encoder) keyOf(f *field) {
	e.item()
	e.buf = append(e.buf, f.quoted...)
}

// entry writes a key and what put writes, or nothing if put says so.
func (e *encoder) entry(key string, put func() bool) {
	n := len(e.buf)
	e.key(key)
	if !put() {
		e.buf = e.buf[:n]
	}
}

// field writes the key and the value of a field of the memory, unless it has none.
func (e *encoder) field(f *field, s *fsm.Snapshot) {
	n := len(e.buf)
	e.keyOf(f)
	if !f.put(e, s) {
		e.buf = e.buf[:n]
	}
}

func (e *encoder) time(t time.Time) bool {
	e.buf = append(e.buf, '"')
	e.buf = t.UTC().AppendFormat(e.buf, "2006-01-02T15:04:05.000000+00:00")
	e.buf = append(e.buf, '"')
	return true
}

// value writes a value of the language; large texts in it go to files of their own.
func (e *encoder) value(v any) bool {
	switch x := v.(type) {
	case string:
		if len(x) > blobFrom && e.blobs != nil {
			return e.blob(x)
		}
		return e.text(x)
	case *value.Map:
		if !e.large(x) {
			break
		}
		e.open('{')
		for _, k := range x.Keys() {
			e.key(k)
			y, _ := x.Get(k)
			e.value(y)
		}
		return e.close('}')
	case []any:
		if !e.large(x) {
			break
		}
		e.open('[')
		for _, y := range x {
			e.item()
			e.value(y)
		}
		return e.close(']')
	}
	e.buf = value.AppendJSON(e.buf, v)
	return true
}

// large says whether there is a text in v that needs a file of its own.
func (e *encoder) large(v any) bool {
	if e.blobs == nil {
		return false
	}
	switch x := v.(type) {
	case string:
		return len(x) > blobFrom
	case *value.Map:
		for _, k := range x.Keys() {
			if y, _ := x.Get(k); e.large(y) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, e.large)
	}
	return false
}

func (e *encoder) texts(l []string) bool {
	e.open('[')
	for _, s := range l {
		e.item()
		e.value(s)
	}
	return e.close(']')
}

// records writes a map of records.
func (e *encoder) records(m *value.Map) bool {
	e.open('{')
	for _, k := range m.Keys() {
		e.key(k)
		v, _ := m.Get(k)
		e.record(v)
	}
	return e.close('}')
}

// record writes a record, which never changes, from memory if it was written before.
func (e *encoder) record(v any) bool {
	m, ok := v.(*value.Map)
	if !ok {
		return e.value(v)
	}
	if p := e.cache[m]; p != nil {
		p.round = e.round
		e.buf = append(e.buf, p.text...)
		return true
	}
	n := len(e.buf)
	e.value(m)
	if e.cache != nil && len(e.buf)-n >= cacheFrom {
		e.cache[m] = &piece{text: bytes.Clone(e.buf[n:]), round: e.round}
	}
	return true
}

// sweep forgets the records that the last whole state did not need.
func (e *encoder) sweep() {
	for m, p := range e.cache {
		if p.round != e.round {
			delete(e.cache, m)
		}
	}
	e.round++
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// appendIndented lays one line of JSON out over many, as the reference tool writes its state files.
func appendIndented(dst, line []byte) []byte {
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
			i++ // the blank behind it
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}
