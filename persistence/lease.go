package persistence

import (
	"errors"
	"fmt"
)

// Stores that cannot ask the system whether an owner lives give out leases: the owner of a run renews its lease, and
// the process that takes over a run whose lease ran out, or whose owner is known to be dead, fences the old owner off.
// What the old owner still tries to record is refused.

// ErrFenced means that this process no longer owns the run, so nothing was recorded. The error that wraps it is a
// *FencedError.
var ErrFenced = errors.New("the run was taken over")

// A FencedError says who took a run over.
type FencedError struct {
	ID    ID
	Owner Owner  // zero where no process owns it now
	Why   string // it was taken, where that was recorded
}

func (e *FencedError) Error() string {
	if e.Owner.PID == 0 {
		text := fmt.Sprintf("run %s was taken from this process, which had not been heard of for too long", e.ID)
		if e.Why != "" {
			text += " (recorded as: " + e.Why + ")"
		}
		return text
	}
	return fmt.Sprintf("another process (%s) took over run %s", e.Owner, e.ID)
}

// Is makes errors.Is(err, ErrFenced) hold.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// String names the process for a person.
func (o Owner) String() string {
	if o.Host != "" {
		return fmt.Sprintf("pid %d on %s", o.PID, o.Host)
	}
	return fmt.Sprintf("pid %d", o.PID)
}
