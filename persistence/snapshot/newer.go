package snapshot

import (
	"fmt"

	"loops/fsm"
	"loops/fsm/value"
)

// Format is the newest format of a memory that this program reads. A memory that earlier programs cannot be
// trusted with names its format under the key "format"; one that does not name it has format 1.
const Format = 2

// formatOf returns the format of a memory: 2 while it waits for a question that several people must answer,
// which earlier programs would take for answered after the first one, and else 1.
func formatOf(s *fsm.Snapshot) int {
	if s.Awaiting.Quorum() > 1 {
		return 2
	}
	return 1
}

// formatField is the key of the format, which a memory of format 1 does not have.
func formatField() field {
	return field{
		key: "format",
		put: func(e *Writer, s *fsm.Snapshot) bool {
			n := formatOf(s)
			return n > 1 && e.int(n)
		},
		take: func(*memory, any) error { return nil }, // newer looks at it
		same: func(a, b *fsm.Snapshot) bool { return a.Awaiting == b.Awaiting || formatOf(a) == formatOf(b) },
	}
}

// A NewerError means that a memory was written by a later version of the program, in a format that this one
// does not read.
type NewerError struct{ Format int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of loops wrote it, in format %d, and this version reads format %d: use the "+
		"newer version", e.Format, Format)
}

// newer reports, as an error, that a memory was written by a later version of the program, which knows things
// that would be lost.
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
