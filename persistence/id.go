package persistence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// NewID returns the ID and the run id of a run of a loop that begins in a second, if no one else has them.
func NewID(loop string, at time.Time) (id ID, runID string) { return MakeID(loop, at), MakeRunID(at) }

// FirstSecond returns the first second that is tried for the id of a run that begins at a time. newest is the
// greatest run id of the project, or "". If it names a later second, the clock was set back since, and the id
// names one after it: so the newest run is the one that began last.
func FirstSecond(at time.Time, newest string) time.Time {
	at = at.UTC().Truncate(time.Second)
	if last, err := ParseRunID(newest); err == nil && last.After(at) && last.Year() < 9999 {
		return last.Add(time.Second)
	}
	return at
}

// Second returns the second that the id of a run which is to have one names.
func (s Spec) Second() (time.Time, error) {
	loop, at, ok := SplitID(s.ID)
	if !ok || loop != s.Loop || MakeID(loop, at) != s.ID {
		return at, fmt.Errorf("%q cannot be the id of a run of the loop %s", s.ID, s.Loop)
	}
	return at, nil
}

// CheckLoop reports whether runs of a loop with this name can be recorded: an empty name and one that is too
// long (ErrName) are errors.
func CheckLoop(name string) error {
	if name == "" {
		return errors.New("a run needs the name of its loop")
	}
	if n := len(EncodeLoop(name)); n > maxStem {
		return fmt.Errorf("loop %.40s…: %w: %d bytes as a file name, at most %d are possible", name, ErrName, n,
			maxStem)
	}
	return nil
}

// SortRuns brings runs into the order of [Store].Runs, newest first.
func SortRuns(runs []Run) { slices.SortStableFunc(runs, newest) }

func newest(a, b Run) int {
	if c := strings.Compare(b.RunID, a.RunID); c != 0 {
		return c
	}
	if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
		return c
	}
	return strings.Compare(string(b.ID), string(a.ID))
}
