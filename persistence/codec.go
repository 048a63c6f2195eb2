package persistence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// This file is for those who write a store: the memory of a run as text, and what all stores decide alike.

// Texts keeps the large texts in the memory of one run by the names of their content. Whoever encodes puts each there
// before the text that names it.
type Texts interface {
	Put(name, text string) error
	// Get returns the text. It need not check it.
	Get(name string) ([]byte, error)
}

// A MemoryEncoder turns the memory of one run into lines of ASCII: whole, or as a patch of what it was. The form is
// that of the journal of a [Dir]. Texts of more than 64 KiB are put into Texts once; nil keeps them in the lines. What
// the methods return is valid until the next call.
type MemoryEncoder struct {
	enc  encoder
	last fsm.Snapshot
}

// NewMemoryEncoder returns an encoder of a run of which nothing is known yet.
func NewMemoryEncoder(texts Texts) *MemoryEncoder {
	e := &MemoryEncoder{}
	if texts != nil {
		e.enc.blobs = &blobs{in: texts}
	}
	return e
}

// Begin says what is on record. Patches are made against it.
func (e *MemoryEncoder) Begin(s *fsm.Snapshot) { remember(&e.last, s) }

// Last returns what Begin, Whole or Patch was told last. It belongs to the encoder: it may be read until the next call.
func (e *MemoryEncoder) Last() *fsm.Snapshot { return &e.last }

// Whole returns all of a memory. The snapshot is lent.
func (e *MemoryEncoder) Whole(s *fsm.Snapshot) ([]byte, error) {
	e.enc.buf, e.enc.err = e.enc.buf[:0], nil
	appendMemory(&e.enc, s)
	e.enc.sweep()
	return e.told(s)
}

// Patch returns how a memory differs from the last one. The snapshot is lent.
func (e *MemoryEncoder) Patch(s *fsm.Snapshot) ([]byte, error) {
	e.enc.buf, e.enc.err = e.enc.buf[:0], nil
	appendPatch(&e.enc, s, &e.last)
	return e.told(s)
}

func (e *MemoryEncoder) told(s *fsm.Snapshot) ([]byte, error) {
	if e.enc.err != nil {
		return nil, e.enc.err
	}
	remember(&e.last, s)
	return e.enc.buf, nil
}

// A MemoryDecoder builds a memory again from what a [MemoryEncoder] wrote: a whole one and the patches behind it.
type MemoryDecoder struct{ flat *value.Map }

// Whole begins with a whole memory.
func (d *MemoryDecoder) Whole(text []byte) (err error) {
	d.flat, err = parseMemory(text)
	return err
}

// Patch goes one step on.
func (d *MemoryDecoder) Patch(text []byte) error {
	m, err := parseMemory(text)
	if err != nil {
		return err
	}
	return applyPatch(d.flat, m)
}

// Snapshot returns the memory, with its large texts. The decoder cannot be used after that.
func (d *MemoryDecoder) Snapshot(texts Texts) (*fsm.Snapshot, error) {
	if texts != nil {
		b := blobs{in: texts}
		if _, err := b.fill(d.flat); err != nil {
			return nil, err
		}
	}
	r := &record{}
	if err := r.takeAll(d.flat, required[:len(required)-1]); err != nil {
		return nil, err
	}
	return &r.Snapshot, nil
}

// NewID returns the ID and the run id of a run of a loop that begins in a second, if nobody else has them.
func NewID(loop string, at time.Time) (id ID, runID string) { return makeID(loop, at), makeRunID(at) }

// CheckLoop says whether runs of a loop with this name can be recorded: an empty name and one that is too long (ErrName)
// are errors.
func CheckLoop(name string) error {
	if name == "" {
		return errors.New("a run needs the name of its loop")
	}
	if n := len(encodeLoop(name)); n > maxStem {
		return fmt.Errorf("loop %.40s…: %w: %d bytes as a file name, at most %d are possible", name, ErrName, n, maxStem)
	}
	return nil
}

// Valid says whether an ID can be the name of a folder that does not lead out of another.
func (id ID) Valid() bool { return id.valid() }

// ResolveScope returns absolute paths without symlinks, as they are compared.
func ResolveScope(scope []string) []string { return resolve(scope) }

// Overlap returns the first path of holder that is, contains or lies within one of scope. Both are resolved.
func Overlap(holder, scope []string) (path string, ok bool) { return overlap(holder, scope) }

// SortRuns brings runs into the order of [Store].Runs, newest first.
func SortRuns(runs []Run) { slices.SortFunc(runs, newest) }
