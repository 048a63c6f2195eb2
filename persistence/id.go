package persistence

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// NewID returns the ID and the run id of a run of a loop that begins in a second, if nobody else has them.
func NewID(loop string, at time.Time) (id ID, runID string) { return makeID(loop, at), makeRunID(at) }

// CheckLoop says whether runs of a loop with this name can be recorded: an empty name and one that is too long (ErrName)
// are errors.
func CheckLoop(name string) error {
	if name == "" {
		return errors.New("a run needs the name of its loop")
	}
	if n := len(encodeLoop(name)); n > maxStem {
		return fmt.Errorf("loop %.40s…: %w: %d bytes as a file name, at most %d are possible", name, ErrName, n, maxStem)
	}
	return nil
}

// Valid says whether an ID can be the name of a folder that does not lead out of another.
func (id ID) Valid() bool { return id.valid() }

// SortRuns brings runs into the order of [Store].Runs, newest first.
func SortRuns(runs []Run) { slices.SortFunc(runs, newest) }
