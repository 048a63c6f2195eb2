package persistence

import (
	"context"
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

// Leased is a [Journal] whose run can be lost while nothing is being recorded.
type Leased interface {
	Journal
	// Lost is closed when the run was taken over, or when the lease ran out and could not be renewed. The action in
	// flight must be ended at once: another process may start it again. The next Record explains why.
	Lost() <-chan struct{}
}

// A Removable is a [Journal] whose record can be removed while nothing is being recorded.
type Removable interface {
	Journal
	// Removed reports whether that has happened. What the run does from then on is lost, so its action is to be
	// ended. The next Record says what was removed.
	Removed() bool
}

// A Numbered is a [Journal] whose owners have numbers, which grow from owner to owner: what an owner leaves
// elsewhere is known by them from what an earlier one does.
type Numbered interface {
	Journal
	// Epoch is the number of this owner.
	Epoch() int64
}

// A SecondLooker is a [Store] in which the lease of an owner may have run out although it is alive, out of
// sight on this machine: the machine slept, or its clock was set. Such a [Run] is Unsure. Resume looks twice by
// itself.
type SecondLooker interface {
	// SecondLook waits for half the length of a lease, or until no run is left, and returns those of the runs
	// whose owners did not renew their leases.
	SecondLook(ctx context.Context, ids []ID) ([]ID, error)
}
