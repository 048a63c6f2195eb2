// Package snapshot writes the memory of the machine, an [fsm.Snapshot], as text, and reads it again: whole, as
// one flat JSON object, or as a patch, an object with what changed since the memory before. It sees no disk.
//
// A store uses an [Encoder] and a [Decoder]: a whole memory and the patches after it are the memory again. One
// that lays flat objects between bytes of its own, as the files of package dirstore do, uses a [Writer].
// Neither keeps the snapshot it is lent, and each is used by one goroutine at a time; functions may be called
// by any at once.
//
// A line of a record ends with a checksum, see [AppendSum]: without one, a flipped bit in a text would be believed.
package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

// An Encoder turns the memory of one run into lines of ASCII: whole, or as a patch of what it was. The form is
// that of the journal of a store in files. Texts of more than 64 KiB are put into Texts once; nil keeps them in
// the lines. What the methods return is valid until the next call.
type Encoder struct {
	enc  *Writer
	last fsm.Snapshot
}

// NewEncoder returns an encoder of a run of which nothing is known yet.
func NewEncoder(texts Texts) *Encoder {
	return &Encoder{enc: NewWriter(texts)}
}

// Begin says what is on record. Patches are made against it.
func (e *Encoder) Begin(s *fsm.Snapshot) { Remember(&e.last, s) }

// Last returns what Begin, Whole or Patch received last. It belongs to the Encoder: it may be read until the next call.
func (e *Encoder) Last() *fsm.Snapshot { return &e.last }

// Whole returns all of a memory. The snapshot is lent.
func (e *Encoder) Whole(s *fsm.Snapshot) ([]byte, error) {
	e.enc.Buf, e.enc.Err = e.enc.Buf[:0], nil
	e.enc.Memory(s)
	e.enc.Sweep()
	return e.told(s)
}

// Patch returns how a memory differs from the last one. The snapshot is lent.
func (e *Encoder) Patch(s *fsm.Snapshot) ([]byte, error) {
	e.enc.Buf, e.enc.Err = e.enc.Buf[:0], nil
	e.enc.Patch(s, &e.last)
	return e.told(s)
}

func (e *Encoder) told(s *fsm.Snapshot) ([]byte, error) {
	if e.enc.Err != nil {
		return nil, e.enc.Err
	}
	Remember(&e.last, s)
	return e.enc.Buf, nil
}

// A Decoder builds a memory again from what a [Encoder] wrote: a whole one and the patches after it.
type Decoder struct{ flat *value.Map }

// Whole begins with a whole memory.
func (d *Decoder) Whole(text []byte) (err error) {
	d.flat, err = Parse(text)
	return err
}

// Patch goes one step on.
func (d *Decoder) Patch(text []byte) error {
	m, err := Parse(text)
	if err != nil {
		return err
	}
	return Apply(d.flat, m)
}

// Snapshot returns the memory, with its large texts. The decoder cannot be used after that.
func (d *Decoder) Snapshot(texts Texts) (*fsm.Snapshot, error) {
	if texts != nil {
		if _, err := Fill(d.flat, texts); err != nil {
			return nil, err
		}
	}
	memory, err := Take(d.flat)
	if err != nil {
		return nil, err
	}
	return memory, nil
}
