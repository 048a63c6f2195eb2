package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
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

	Silent time.Duration // of stuck; 0 = not asked for
	Failed time.Time     // of failedSince; zero = not asked for
}

// Chooses reports whether anything is asked for.
func (f *OpenFilter) Chooses() bool {
	return f.Silent > 0 || f.Waiting || f.Unmerged || !f.Failed.IsZero() || len(f.Status) > 0
}

// OpenStatuses are those that --status of list knows, with the words that distinguish how runs of one status ended, and
// whether a run with it is open.
var OpenStatuses = []struct {
	Name string
	open bool
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
	{"killed", true},
	{"budget", true},
	{"limited", true},
	{StatusQueued, true},
	{"unreadable", true},
	{inspect.UnknownOwner, true},
	{string(persistence.Starting), true},
	{"stalled", false},
	{string(persistence.TimedOut), false},
	{string(persistence.Completed), false},
	{inspect.Unmerged, false},
}

// badly are the statuses, and the words, of runs that ended badly.
var badly = []string{string(persistence.Failed), string(persistence.TimedOut), string(persistence.Interrupted), "capped", "killed", "stalled", "budget", "limited", inspect.Unmerged}

// ParseSpan reads a time above 0.
func ParseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = lookup.ParseAge(s)
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above 0", s)
	}
	return d, err
}

// Contradiction refuses what no run is at once.
func (f *OpenFilter) Contradiction() error {
	never := func(format string, args ...any) error { return engine.Misuse("list", format, args...) }
	switch {
	case f.Silent > 0 && f.Waiting:
		return never("--stuck and --waiting: no run is both, because one that waits is silent on purpose")
	case f.Silent > 0 && !f.Failed.IsZero():
		return never("--stuck and --failed-since: no run is both, because one that is stuck has not ended")
	case f.Waiting && !f.Failed.IsZero():
		return never("--waiting and --failed-since: no run is both, because one that failed waits for nothing")
	}
	if f.Unmerged {
		switch {
		case f.Silent > 0:
			return never("--stuck and --unmerged: no run is both, because one that is stuck has not ended")
		case f.Waiting:
			return never("--waiting and --unmerged: no run is both, because one that was not merged has completed")
		case len(f.Status) > 0:
			return never("--unmerged and --status: runs that were not merged are all completed; leave --status out")
		}
	}
	var names []string
	for _, s := range OpenStatuses {
		names = append(names, s.Name)
	}
	for _, name := range f.Status {
		i := slices.Index(names, name)
		if i < 0 {
			return never("--status %s: there is no such status%s; they are %s", humanize.Quote(name), humanize.DidYouMean(name, names), humanize.List(names))
		}
		status := persistence.Status(name)
		switch {
		case !f.Failed.IsZero() && !slices.Contains(badly, name):
			return never("--failed-since and --status %s: no run is both; --failed-since lists failed, timed_out and interrupted", name)
		case f.Silent > 0 && status != persistence.Running:
			return never("--stuck and --status %s: no run is both, because only a running run can be stuck", name)
		case f.Waiting && (status == persistence.Failed || name == "unreadable"):
			return never("--waiting and --status %s: no run is both", name)
		case f.Failed.IsZero() && !OpenStatuses[i].open:
			return never("--status %s: such a run is not open; loops history NAME --status %s lists those that ended", name, name)
		}
	}
	return nil
}

// has reports whether a status is asked for.
func (f *OpenFilter) has(status string) bool {
	return len(f.Status) == 0 || slices.Contains(f.Status, status)
}

// Keeps reports whether a run is one that was asked for.
func (f *OpenFilter) Keeps(v *inspect.Status) bool {
	r := v.Run
	switch {
	case f.Unmerged && !r.Unmerged():
		return false
	case !f.has(inspect.StatusWord(r)) && !f.has(v.StatusText()):
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
	return f.Silent == 0 && f.Failed.IsZero() && !f.Unmerged && f.has(StatusQueued)
}

// None says that there is no such run.
func (f *OpenFilter) None() string {
	switch {
	case f.Silent > 0:
		return "No run is stuck: no running run was silent for " + humanize.Duration(f.Silent) + " without waiting for something."
	case f.Waiting:
		return "No run waits."
	case f.Unmerged:
		return "Each run that completed was merged, or asked for no merge."
	case !f.Failed.IsZero():
		return "No run ended badly since " + humanize.Clock(f.Failed) + "."
	case len(f.Status) > 0:
		return "No open run is " + strings.Join(f.Status, " or ") + "."
	}
	return NoneOpen
}

// NoneOpen says that there is no open run.
const NoneOpen = "No active or resumable runs."

// StatusQueued is what a run that waits in the queue shows as: it is no run yet, so no store knows the word.
const StatusQueued = "queued"

// Bad selects at least the runs that [EndedBadly].
func Bad() persistence.Filter {
	return persistence.Filter{Statuses: badStatuses, Unmerged: true}
}

var badStatuses = []persistence.Status{persistence.Failed, persistence.Interrupted, persistence.Running, persistence.TimedOut}

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
