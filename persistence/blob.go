package persistence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"unsafe"

	"loops/fsm/value"
)

// blobFrom is the length in bytes over which a text in the memory gets a file of its own.
const blobFrom = 64 << 10

// blobs are the large texts of one run, each in a file named after its SHA-256. They are written once, before
// the journal line that names them.
type blobs struct {
	d      *Dir // that makes them durable
	dir    string
	there  func() error // reports whether the run is where it was: else dir is not its own; nil: it is
	in     Texts        // if not nil, it keeps them, and not dir
	named  bool         // the name of the working folder is durable
	recent []blobName   // the same text usually comes again as the same bytes in memory, so hashing is rare
}

// A blobName keeps the text, so that its address stays its own.
type blobName struct{ text, name string }

// blob writes the reference to a large text and stores it if it is new.
func (e *encoder) blob(s string) bool {
	name, err := e.blobs.store(s)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.buf = value.AppendJSON(e.buf, value.NewMap("$blob", name, "bytes", len(s)))
	return true
}

func (b *blobs) store(s string) (string, error) {
	for _, r := range b.recent {
		if len(r.text) == len(s) && unsafe.StringData(r.text) == unsafe.StringData(s) {
			return r.name, nil
		}
	}
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(s), len(s)))
	name := hex.EncodeToString(sum[:])
	if err := b.put(name, s); err != nil {
		return name, err
	}
	if len(b.recent) >= 8 {
		b.recent = append(b.recent[:0], b.recent[1:]...)
	}
	b.recent = append(b.recent, blobName{s, name})
	return name, nil
}

func (b *blobs) put(name, s string) error {
	if b.in != nil {
		return b.in.Put(name, s)
	}
	path := filepath.Join(b.dir, name)
	if size, ok := isRegular(path); ok && size == int64(len(s)) {
		return nil
	}
	return b.write(path, s)
}

// get reads a text, and says where it is.
func (b *blobs) get(name string) (text []byte, path string, err error) {
	if b.in != nil {
		text, err = b.in.Get(name)
		return text, name, err
	}
	path = filepath.Join(b.dir, name)
	text, err = ReadRecord(path)
	return text, path, err
}

func (b *blobs) write(path, s string) error {
	if b.there != nil {
		if err := b.there(); err != nil {
			return err
		}
	}
	if err := errors.Join(realFolder(b.dir), os.MkdirAll(b.dir, folderMode)); err != nil {
		return err
	}
	if err := b.d.writeSynced(path+".tmp", []byte(s)); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	work := filepath.Dir(b.dir)
	if err := errors.Join(b.d.syncDir(b.dir), b.d.syncDir(work)); err != nil || b.named {
		return err
	}
	b.named = true
	return b.d.syncDir(filepath.Dir(work))
}

// fill puts the texts back in place of their references.
func (b *blobs) fill(v any) (any, error) {
	switch x := v.(type) {
	case *value.Map:
		if name, n, ok := blobRef(x); ok {
			text, path, err := b.get(name)
			if err != nil {
				return nil, &DamageError{File: path, Offset: -1, What: "a text of the run is missing: " + errText(err)}
			}
			if sum := sha256.Sum256(text); int64(len(text)) != n || hex.EncodeToString(sum[:]) != name {
				return nil, &DamageError{File: path, Offset: -1, What: "the content is not what was recorded"}
			}
			return string(text), nil
		}
		for _, k := range x.Keys() {
			y, _ := x.Get(k)
			z, err := b.fill(y)
			if err != nil {
				return nil, err
			}
			if _, was := y.(*value.Map); was {
				x.Set(k, z)
			}
		}
	case []any:
		for i := range x {
			z, err := b.fill(x[i])
			if err != nil {
				return nil, err
			}
			x[i] = z
		}
	}
	return v, nil
}

func blobRef(m *value.Map) (name string, size int64, ok bool) {
	if m.Len() != 2 {
		return "", 0, false
	}
	a, _ := m.Get("$blob")
	n, _ := m.Get("bytes")
	name, ok1 := a.(string)
	size, ok2 := n.(int64)
	if !ok1 || !ok2 || len(name) != 64 {
		return "", 0, false
	}
	if _, err := hex.DecodeString(name); err != nil {
		return "", 0, false
	}
	return name, size, true
}

func errText(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
