package persistence

import (
	"context"
	"iter"
	"time"

	"loops/fsm"
)

// What some stores and journals can do beyond a [Store] and a [Journal].

// A Moment is what a run remembered when an event was recorded.
type Moment struct {
	Seq    uint64        // of the last event that the memory includes
	Memory *fsm.Snapshot // nil = nothing is known
}

// A Rewinder is a [Store] that knows what its runs remembered earlier. Nothing is changed by asking, and the
// run may continue meanwhile.
type Rewinder interface {
	Store
	// Around returns what a run remembered on both sides of an event: as it was recorded last before it, and as it was
	// recorded first with it, or after it. Where the store never had that, or does not have it any more, there is no
	// memory, or that of the nearest event that has one; Seq shows which. Bytes that cannot be read in between are a
	// *DamageError.
	Around(ctx context.Context, id ID, seq uint64) (before, after Moment, err error)
}

// A Scrubber is a [Store] that can change the texts of what it has recorded.
type Scrubber interface {
	Store
	// Scrub replaces each text of the record of a run (events, memory, definition, commands) by what change returns
	// for it, and reports whether any became another one. The record is as it was or as it is to be, whenever this
	// process dies. Keys, names and numbers stay. The working folder is not among what is recorded, and neither are
	// copies that a file system or a server keeps of what was overwritten. beside is called once while no process can
	// take the run over; its error is returned. A live owner is a *HeldError, an unknown run
	// ErrNotFound; a run that was not archived yet, or that little-loops wrote, errors.ErrUnsupported. change may be
	// called more than once for a text, and never at once.
	Scrub(ctx context.Context, id ID, change func(text string) string, beside func() error) (bool, error)
}

// A Tailer is a [Store] that can be read from its newest event backwards, for those who ask the status of a run
// and not what it did in all its life.
type Tailer interface {
	Store
	// Tail yields the events of a run, newest first. What is damaged is left out: Events reports it. Events
	// that carry no number of their own have none here either. The error, the last thing yielded, is
	// ErrNotFound for an unknown run, and that of reading where what is older cannot be read.
	Tail(ctx context.Context, id ID) iter.Seq2[fsm.Event, error]
}

// A Tracker is a [Store] that can read the events of a run while they are recorded, without reading twice what
// it has read.
type Tracker interface {
	Store
	// Track returns what reads the events of a run after the one with a number. What came with the Reading of
	// the run is not read again.
	Track(r Run, after uint64) Track
}

// A Track reads the events of one run as they come. It is not safe for concurrent use.
type Track interface {
	// Events yields the events after the last that it yielded, as Events of a [Store] does. Events that are missing at
	// the end are reported at the first look and at the last one.
	Events(ctx context.Context, last bool) iter.Seq2[fsm.Event, error]
}

// A Redefiner is a [Journal] that is known, while a run is running, what the run is made of: a state may run a loop
// whose name or text is not known before.
type Redefiner interface {
	Journal
	// Redefine keeps another text instead of Spec.Definition. It is called by the goroutine that calls Record.
	// After an error nothing more is recorded.
	Redefine(ctx context.Context, definition []byte) error
}

// A Counter is a [Store] that counts runs without reading the record of each.
type Counter interface {
	Store
	// Count returns how many of the runs that a query selects ended in the same way, began within the same step
	// of time, and are in the archive; those that are not it does not count. Of the Filter no more than Loops,
	// Since and Until is set.
	Count(ctx context.Context, q Query, within time.Duration) ([]Count, error)
}

// A Summarizer is a [Store] that keeps what readers work out from the events of archived runs, so that these are read
// once.
type Summarizer interface {
	Store
	// Summaries returns the texts that are kept now. Close is to be called.
	Summaries() Summaries
}

// Summaries are texts, one for a run, that hold as long as what is recorded of the run is as it was. They belong to
// one goroutine.
type Summaries interface {
	// Of returns the text of a run. It is false where there is none, or where the record has changed since.
	Of(r Run) (text string, ok bool)
	// Keep keeps the text of a run whose events were read, all of them and without damage, after Summaries returned.
	Keep(r Run, text string)
	// Close has the texts that were kept found by the next reader, as far as that saves it much.
	Close()
}

// A Count is how many runs are recorded alike.
type Count struct {
	Status   Status
	Ended    string    // not of completed runs
	Limited  bool      // likewise
	Unmerged bool      // of completed runs; see [Run.Unmerged]
	Began    time.Time // the step in which they did, of all those since 1970
	Runs     int
}
