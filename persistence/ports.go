package persistence

import (
	"context"
	"errors"
	"iter"
	"time"

	"loops/fsm"
)

// A Moment is what a run remembered when an event was recorded.
type Moment struct {
	Seq    uint64        // of the last event that the memory includes
	Memory *fsm.Snapshot // nil = nothing is known
}

// A Track reads the events of one run as they come. It is not safe for concurrent use.
type Track interface {
	// Events yields the events after the last that it yielded, as Events of a [Store] does. Events that are missing at
	// the end are reported at the first look and at the last one.
	Events(ctx context.Context, last bool) iter.Seq2[fsm.Event, error]
}

// Summaries are texts, one for a run, that hold as long as what is recorded of the run is as it was. They belong to
// one goroutine.
type Summaries interface {
	// Of returns the text of a run. It is false where there is none, or where the record has changed since.
	Of(r Run) (text string, ok bool)
	// Keep keeps the text of a run whose events were read, all that can be, after Summaries returned.
	Keep(r Run, text string)
	// Close has the texts that were kept found by the next reader, as far as that saves it much.
	Close()
}

// TrackEvents returns what reads the events of a run after the one with a number by asking for those that came since.
func TrackEvents(s Source, r Run, after uint64) Track { return &eventTrack{s, r, after} }

type eventTrack struct {
	of    Source
	run   Run
	after uint64
}

func (t *eventTrack) Events(ctx context.Context, _ bool) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		events := t.of.Events(ctx, t.run.ID, t.after)
		if t.run.Reading != nil {
			events = t.run.Reading.Events(ctx, t.after)
		}
		for e, err := range events {
			if err == nil {
				t.after = e.Seq
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Plain is embedded by a [Store] that can do no more than is to be done: it has no leases, and counts, keeps and marks
// nothing.
type Plain struct{}

// Count is that of [Store].
func (Plain) Count(context.Context, Query, time.Duration) ([]Count, error) {
	return nil, errors.ErrUnsupported
}

// Summaries is that of [Store].
func (Plain) Summaries() Summaries { return noSummaries{} }

// Crowded is that of [Store].
func (Plain) Crowded(int) bool { return false }

// SecondLook is that of [Store].
func (Plain) SecondLook(context.Context, []ID) ([]ID, error) { return nil, nil }

// MarkInterrupted is that of [Store].
func (Plain) MarkInterrupted(context.Context, []Tidying) []error { return nil }

// Scrub is that of [Store].
func (Plain) Scrub(context.Context, ID, func(string) string, func() error) (bool, error) {
	return false, errors.ErrUnsupported
}

// EachOf yields what runs returns.
func EachOf(runs func() ([]Run, error)) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		all, err := runs()
		if err != nil {
			yield(Run{}, err)
			return
		}
		for i := range all {
			if !yield(all[i], nil) {
				return
			}
		}
	}
}

// SizesOf returns what size returns for each run, and 0 for one that is gone.
func SizesOf(ctx context.Context, ids []ID, size func(context.Context, ID) (int64, error)) (sizes []int64, err error) {
	for _, id := range ids {
		n, err := size(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

type noSummaries struct{}

func (noSummaries) Of(Run) (string, bool) { return "", false }
func (noSummaries) Keep(Run, string)      {}
func (noSummaries) Close()                {}

// A Count is how many runs are recorded alike.
type Count struct {
	Status   Status
	Ended    string    // not of completed runs
	Limited  bool      // likewise
	Unmerged bool      // of completed runs; see [Run.Unmerged]
	Began    time.Time // the step in which they did, of all those since 1970
	Runs     int
}
