package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// StuckAfter is how long a run is silent before it counts as stuck, by default.
const StuckAfter = 10 * time.Minute

// An OpenFilter chooses among the runs that list --running shows. All that is set must hold.
type OpenFilter struct {
	Stuck       string
	Waiting     bool
	Unmerged    bool
	FailedSince string
	Status      []string
	State       string // that they are in, or in one inside it; "" = any

	Silent time.Duration // of stuck; 0 = not asked for
	Failed time.Time     // of failedSince; zero = not asked for
}

// Chooses reports whether anything is asked for.
func (f *OpenFilter) Chooses() bool {
	return f.Silent > 0 || f.Waiting || f.Unmerged || !f.Failed.IsZero() || len(f.Status) > 0 || f.State != ""
}

// OpenStatuses are those that --status of list knows, with the words that distinguish how runs of one status ended, and
// whether a run with it is open.
var OpenStatuses = []struct {
	Name string
	Open bool
}{
	{string(persistence.Running), true},
	{string(persistence.Interrupted), true},
	{string(persistence.UserStopped), true},
	{string(persistence.Awaiting), true},
	{string(persistence.Failed), true}, // because a rate limit lasted
	{"capped", true},
	{"stopped", true},
	{inspect.Paused, true},
	{"parked", true},
	{"handed_off", true},
	{inspect.Suspended, true},
	{"killed", true},
	{"budget", true},
	{"limited", true},
	{view.StatusQueued, true},
	{"unreadable", true},
	{inspect.UnknownOwner, true},
	{string(persistence.Starting), true},
	{"stalled", false},
	{string(persistence.TimedOut), false},
	{string(persistence.Completed), false},
	{inspect.Unmerged, false},
}

// ParseSpan reads a time above 0.
func ParseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = ParseAge(s)
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above 0", s)
	}
	return d, err
}

// has reports whether a status is asked for.
func (f *OpenFilter) has(status string) bool {
	return len(f.Status) == 0 || slices.Contains(f.Status, status)
}

// Keeps reports whether a run is one that was asked for.
func (f *OpenFilter) Keeps(v *inspect.Status) bool {
	r := v.Run
	switch {
	case f.Unmerged && !r.Unmerged(), f.State != "" && r.State != f.State &&
		(v.Memory == nil || !v.Memory.InState(f.State)):
		return false
	case !f.has(inspect.StatusWord(r)) && !f.has(v.StatusText()) &&
		!(r.Status == persistence.Queued && f.has(inspect.Suspended) && inspect.SuspendedBy(r) != ""):
		return false
	case f.Silent > 0:
		return v.Alive && !v.Waits() && v.Idle() >= f.Silent
	case f.Waiting:
		return v.Waits() || r.Status == persistence.Awaiting && r.Resumable
	}
	return true
}

// Queued reports whether those in the queue are asked for.
func (f *OpenFilter) Queued() bool {
	return f.State == "" && f.Silent == 0 && f.Failed.IsZero() && !f.Unmerged && f.has(view.StatusQueued)
}

// None says that there is no such run.
func (f *OpenFilter) None() string {
	switch {
	case f.State != "":
		return "No such run is in state " + f.State + "."
	case f.Silent > 0:
		return "No run is stuck: no running run was silent for " + humanize.Duration(f.Silent) +
			" without waiting for something."
	case f.Waiting:
		return "No run waits."
	case f.Unmerged:
		return "Each run that completed was merged, or asked for no merge."
	case !f.Failed.IsZero():
		return "No run ended badly since " + humanize.Clock(f.Failed) + "."
	case len(f.Status) > 0:
		return "No open run is " + strings.Join(f.Status, " or ") + "."
	}
	return view.NoneOpen
}

// Bad selects at least the runs that [EndedBadly].
func Bad() persistence.Filter {
	return persistence.Filter{Statuses: badStatuses, Unmerged: true}
}

var badStatuses = []persistence.Status{
	persistence.Failed, persistence.Interrupted, persistence.Running,
	persistence.TimedOut,
}

// EndedBadly reports whether a run ended so that a user has to look at it: it failed, timed out, came to its
// cap or the end of its budget, its process died, it completed and was not merged, or the machine lacked what
// an action needs to start. One that a person stopped did not.
func EndedBadly(r persistence.Run) bool {
	switch r.Status {
	case persistence.Running:
		return !project.Alive(r) && !r.Unowned
	case persistence.Interrupted:
		return r.Ended != fsm.EndInterrupted || r.Limited
	}
	return inspect.Wasted(r) || r.Unmerged()
}
