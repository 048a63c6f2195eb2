package persistence

import "fmt"

// An ElsewhereError means that a run belongs to another project that records in the same store. It is an
// ErrNotFound, too.
type ElsewhereError struct {
	ID      ID
	Project string // see [Run.Project]
}

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("run %s belongs to the project %s", e.ID, e.Project)
}

// Is reports whether target is [ErrNotFound].
func (e *ElsewhereError) Is(target error) bool { return target == ErrNotFound }
