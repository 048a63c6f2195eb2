package persistence

import (
	"slices"
	"strings"
	"time"
)

// A Query selects runs. The zero Query is all of them.
type Query struct {
	ID    ID     // of one run, which is found without looking at others
	Loop  string // exact name of the loop
	Live  bool   // only those with files among the running ones
	Last  bool   // of each loop, only the newest run
	Limit int    // at most so many of these; 0 = all
	// of these, so many of the newest are left out before others are counted; for a query without Live, Last
	// and LiveToo
	Skip int

	// those of other projects that record in the same store, too; what may be read of them is [Run.Held] and
	// how they ended
	Anywhere bool

	LiveToo  bool // beyond Limit, all that Live would select
	Open     bool // of all these, only those that have not finished; see [Run.Open]
	Readings bool // each run comes with its Reading, which takes memory

	HeldReadings bool // each run that a process owns comes with its Reading

	Filter // for a query without Last
	// asked now and then where a Filter rejects runs; once it reports true, those that were found are all; nil
	// = never
	Enough func() bool
}

// A Filter selects further runs, before a query counts those that it skips and returns. The zero Filter selects all.
type Filter struct {
	Statuses []Status // one of these is recorded; empty = any
	// with Statuses: those that completed and were not merged are selected, too; without: only these are
	Unmerged bool
	Ends     []string  // one of these ended it: Run.Ended, "" where nothing did; empty = any
	Loops    []string  // the loop is one of these; empty = any
	Since    time.Time // it was begun, or recorded last, after this; zero = any
	Until    time.Time // it was begun before this; zero = any
	// part of its id, loop, state, message, error, reason or why, whatever the case (in a database, of letters
	// of ASCII); "" = any
	Text string

	// Keep has the last word; nil = all. It may be asked more than once about a run, and first about one of
	// which only the fields ID, RunID, Loop, Status, State, Step, Passes, MaxSteps, StartedAt, UpdatedAt,
	// Elapsed, Ended, Error, Message, Reason, Why, Ignored, Merge, FailedItems, Limited, Refused, Resumable,
	// Archived and the PID of Owner are set, so it looks at nothing else. It is called by one goroutine at a
	// time.
	Keep func(Run) bool
}

// Filters reports whether f selects less than all runs.
func (f *Filter) Filters() bool {
	return len(f.Statuses) > 0 || f.Unmerged || len(f.Ends) > 0 || len(f.Loops) > 0 || !f.Since.IsZero() ||
		!f.Until.IsZero() || f.Text != "" || f.Keep != nil
}

// Matches reports whether f selects a run.
func (f *Filter) Matches(r Run) bool {
	switch {
	case (len(f.Statuses) > 0 || f.Unmerged) && !slices.Contains(f.Statuses, r.Status) && !(f.Unmerged && r.Unmerged()),
		len(f.Ends) > 0 && !slices.Contains(f.Ends, r.Ended),
		len(f.Loops) > 0 && !slices.Contains(f.Loops, r.Loop),
		!f.Since.IsZero() && !r.StartedAt.After(f.Since) && !r.UpdatedAt.After(f.Since),
		!f.Until.IsZero() && !r.StartedAt.Before(f.Until):
		return false
	}
	if text := strings.ToLower(f.Text); text != "" &&
		!slices.ContainsFunc([]string{string(r.ID), r.Loop, r.State, r.Message, r.Error, r.Reason, r.Why},
			func(s string) bool {
				return strings.Contains(strings.ToLower(s), text)
			}) {
		return false
	}
	return f.Keep == nil || f.Keep(r)
}

// Reads reports whether a run comes with its Reading.
func (q Query) Reads(r Run) bool { return q.Readings || q.HeldReadings && r.Held }

// Cut returns, of all runs that match otherwise and that the Filter selects, the newest first, the last of each
// loop where Last says so; of those behind Skip as many as Limit says, and after them the running ones where
// LiveToo says so; and of these the open ones, where Open says so. Stores use it. It changes runs.
func (q Query) Cut(runs []Run) []Run {
	if q.Filters() {
		runs = slices.DeleteFunc(runs, func(r Run) bool { return !q.Matches(r) })
	}
	if q.Last {
		seen := make(map[string]bool)
		runs = slices.DeleteFunc(runs, func(r Run) bool {
			again := seen[r.Loop]
			seen[r.Loop] = true
			return again
		})
	}
	runs = runs[min(q.Skip, len(runs)):]
	wanted := runs
	if q.Limit > 0 && len(runs) > q.Limit {
		wanted = runs[:q.Limit]
		for _, r := range runs[q.Limit:] {
			if q.LiveToo && r.Live() {
				wanted = append(wanted, r)
			}
		}
	}
	if q.Open {
		wanted = slices.DeleteFunc(wanted, func(r Run) bool { return !r.Open() })
	}
	return wanted
}

// Open reports whether a run has not finished: it has files among the running ones, is held, or can be resumed.
func (r Run) Open() bool { return r.Live() || r.Held || r.Resumable }
