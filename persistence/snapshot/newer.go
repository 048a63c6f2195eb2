package snapshot

import (
	"fmt"

	"loops/fsm/value"
)

// Format is the newest format of a memory that this program reads. A memory that earlier programs cannot be trusted with names its
// format under the key "format", as a later version of this program will; one that does not name it has format 1.
const Format = 1

// A NewerError means that a memory was written by a later version of the program, in a format that this one does not read.
type NewerError struct{ Format int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of loops wrote it, in format %d, and this version reads format %d: use the newer version", e.Format, Format)
}

// newer reports, as an error, that a memory was written by a later version of the program, which knows things that would be lost.
func newer(m *value.Map) error {
	v, _ := m.Get("format")
	if v == nil {
		return nil
	}
	var n int
	if err := TakeInt(&n, v); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	if n > Format {
		return &NewerError{n}
	}
	return nil
}
