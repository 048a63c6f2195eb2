package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"loops/fsm"
	"loops/fsm/value"
)

// LargeFrom is the length in bytes over which a text in the memory is kept apart, in [Texts].
const LargeFrom = 64 << 10

// Texts keeps the large texts in the memory of one run by the names of their content, which are their SHA-256
// in hexadecimal digits. An encoder puts each there before the text that names it.
type Texts interface {
	Put(name, text string) error
	// Get returns the text. It need not check it.
	Get(name string) ([]byte, error)
}

// A TextError means that a large text of a memory is not there, or not as it was recorded.
type TextError struct{ Name, What string }

func (e *TextError) Error() string { return fmt.Sprintf("%s: damaged: %s", e.Name, e.What) }

// largeTexts are the texts that were put apart.
type largeTexts struct {
	in     Texts
	recent []largeText // the same text usually comes again as the same bytes in memory, so hashing is rare
}

// A largeText keeps the text, so that its address stays its own.
type largeText struct{ text, name string }

// blob writes the reference to a large text and stores it if it is new.
func (e *Writer) blob(s string) bool {
	name, err := e.large.store(s)
	if err != nil && e.Err == nil {
		e.Err = err
	}
	e.Buf = value.AppendJSON(e.Buf, value.NewMap("$blob", name, "bytes", len(s)))
	return true
}

// lineEnds is how many bytes a stored text may have after one that is named as its beginning: a captured
// output, without the line ends that the output of the previous result still has.
const lineEnds = 64

// store returns the name of a text that is s, or begins with it.
func (b *largeTexts) store(s string) (string, error) {
	for _, r := range b.recent {
		if more := len(r.text) - len(s); more >= 0 && more <= lineEnds &&
			unsafe.StringData(r.text) == unsafe.StringData(s) {
			return r.name, nil
		}
	}
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(s), len(s)))
	name := hex.EncodeToString(sum[:])
	if err := b.in.Put(name, s); err != nil {
		return name, err
	}
	if len(b.recent) >= 8 {
		b.recent = append(b.recent[:0], b.recent[1:]...)
	}
	b.recent = append(b.recent, largeText{s, name})
	return name, nil
}

// captures has the output of the last action stored before what may be the beginning of it.
func captures(f field) field {
	put, patch := f.put, f.patch
	f.put = func(e *Writer, s *fsm.Snapshot) bool {
		e.outputFirst(s)
		return put(e, s)
	}
	f.patch = func(e *Writer, now, before *fsm.Snapshot) {
		e.outputFirst(now)
		patch(e, now, before)
	}
	return f
}

// outputFirst stores the output of the last action, if it is a large text: what its state captured is the
// beginning of it.
func (e *Writer) outputFirst(s *fsm.Snapshot) {
	if e.large == nil {
		return
	}
	var output string
	switch {
	case s.Result != nil:
		output = s.Result.Stdout
	case s.PrevResult != nil:
		v, _ := s.PrevResult.Get("output")
		output, _ = v.(string)
	}
	if len(output) <= LargeFrom {
		return
	}
	if _, err := e.large.store(output); err != nil && e.Err == nil {
		e.Err = err
	}
}

// Fill puts the large texts back in the places of a flat object, or of a part of it, that name them, and
// returns what v is then. It changes v. A text that is missing or damaged is a [*TextError].
func Fill(v any, in Texts) (any, error) {
	switch x := v.(type) {
	case *value.Map:
		if name, n, ok := blobRef(x); ok {
			text, err := in.Get(name)
			if err != nil {
				return nil, &TextError{Name: name, What: "a text of the run is missing: " + reason(err)}
			}
			if sum := sha256.Sum256(text); int64(len(text)) < n || hex.EncodeToString(sum[:]) != name {
				return nil, &TextError{Name: name, What: "the content is not what was recorded"}
			}
			return string(text[:n]), nil
		}
		if inner, ok := literal(x); ok {
			x = inner
			v = inner
		}
		for _, k := range x.Keys() {
			y, _ := x.Get(k)
			z, err := Fill(y, in)
			if err != nil {
				return nil, err
			}
			if _, was := y.(*value.Map); was {
				x.Set(k, z)
			}
		}
	case []any:
		for i := range x {
			z, err := Fill(x[i], in)
			if err != nil {
				return nil, err
			}
			x[i] = z
		}
	}
	return v, nil
}

// literalKey is the only key of an object that stands for its value, an object as an author or an action made it. It is
// written where that would itself be read as a reference or as such an object.
const literalKey = "$literal"

// isReference reports whether an object would be read as something else than itself.
func isReference(m *value.Map) bool {
	if m.Len() > 2 {
		return false
	}
	if _, _, ok := blobRef(m); ok {
		return true
	}
	_, ok := literal(m)
	return ok
}

// literal returns the object that m stands for, if it is one that stands for another.
func literal(m *value.Map) (inner *value.Map, ok bool) {
	if m.Len() != 1 {
		return nil, false
	}
	v, _ := m.Get(literalKey)
	inner, ok = v.(*value.Map)
	return inner, ok
}

// blobRef returns the name of a stored text and how many bytes of it, from its beginning, are meant.
func blobRef(m *value.Map) (name string, size int64, ok bool) {
	if m.Len() != 2 {
		return "", 0, false
	}
	a, _ := m.Get("$blob")
	n, _ := m.Get("bytes")
	name, ok1 := a.(string)
	size, ok2 := n.(int64)
	if !ok1 || !ok2 || len(name) != 64 || size < 0 {
		return "", 0, false
	}
	if _, err := hex.DecodeString(name); err != nil {
		return "", 0, false
	}
	return name, size, true
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
