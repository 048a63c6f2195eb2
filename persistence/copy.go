package persistence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence/snapshot"
)

// A Recorded run is all that a store has recorded about one.
type Recorded struct {
	Run        Run
	Memory     *fsm.Snapshot
	Definition []byte                      // the text of the loop file; nil where it is not known
	Events     iter.Seq2[fsm.Event, error] // its history, from the first event on
	Commands   []Command                   // what was asked of it, in order
}

// A DifferentError means that a store has another run with the same ID, or the same one as it was at another time.
type DifferentError struct {
	ID         ID
	Want, Have Digest
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("run %s exists already and differs from the one here (there %s; here %s)", e.ID, e.Have, e.Want)
}

// Copy copies a run that no process owns from one store to another, compares what both then say about it, and
// returns that. A run that is there already is only compared: the error is fs.ErrExist if it is the same, and
// otherwise, as after a copy that went wrong, a *DifferentError. A live owner is a *HeldError, damage a
// *DamageError; then nothing is copied.
func Copy(ctx context.Context, from Source, to Store, run Run) (Digest, error) {
	if run.Held {
		return Digest{}, &HeldError{ID: run.ID, Owner: run.Owner}
	}
	memory, err := from.Snapshot(ctx, run.ID)
	if err != nil {
		return Digest{}, err
	}
	r := Recorded{Run: run, Memory: memory, Events: still(ctx, from, run)}
	if r.Definition, err = from.Definition(ctx, run.ID); err != nil {
		return Digest{}, err
	}
	if r.Commands, err = from.Commands(ctx, run.ID, 0); err != nil {
		return Digest{}, err
	}
	imported := to.Import(ctx, r)
	if imported != nil && !errors.Is(imported, fs.ErrExist) {
		return Digest{}, imported
	}
	want, err := Sum(ctx, from, run)
	if err != nil {
		return Digest{}, err
	}
	copied, err := find(ctx, to, run)
	if err != nil {
		return want, err
	}
	have, err := Sum(ctx, to, copied)
	switch {
	case err != nil:
		return want, err
	case have != want:
		return want, &DifferentError{ID: run.ID, Want: want, Have: have}
	}
	return want, imported
}

// still yields the history of a run, and an error at its end if the run is not any more what it was.
func still(ctx context.Context, s Source, run Run) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		for e, err := range s.Events(ctx, run.ID, 0) {
			if !yield(e, err) {
				return
			}
		}
		now, err := find(ctx, s, run)
		switch {
		case err != nil:
			yield(fsm.Event{}, err)
		case now.Held || now.Segment != run.Segment:
			yield(fsm.Event{}, &HeldError{ID: run.ID, Owner: now.Owner})
		case now.Status != run.Status || now.Archived != run.Archived || !now.UpdatedAt.Equal(run.UpdatedAt):
			yield(fsm.Event{}, fmt.Errorf("run %s changed while it was copied", run.ID))
		}
	}
}

func find(ctx context.Context, s Source, run Run) (Run, error) {
	runs, err := s.Runs(ctx, Query{ID: run.ID})
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%s: %w", run.ID, ErrNotFound)
	}
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

// A Digest shows whether two stores have recorded the same about a run.
type Digest struct {
	Events int    // how many there are
	Hash   string // SHA-256 of them, of the memory, of the definition, of the commands and of what a listing says
}

func (d Digest) String() string { return fmt.Sprintf("%d events, sha256 %.12s", d.Events, d.Hash) }

// Sum reads all that is recorded about a run. What differs between stores, places and owners, is not in it.
func Sum(ctx context.Context, s Source, run Run) (Digest, error) {
	h := sha256.New()
	memory, err := s.Snapshot(ctx, run.ID)
	if err != nil {
		return Digest{}, err
	}
	text, err := snapshot.NewEncoder(nil).Whole(memory)
	if err != nil {
		return Digest{}, err
	}
	h.Write(text)
	sumRun(h, run)
	definition, err := s.Definition(ctx, run.ID)
	if err != nil {
		return Digest{}, err
	}
	fmt.Fprintf(h, "%d %s", len(definition), definition)
	if err := sumCommands(ctx, h, s, run.ID); err != nil {
		return Digest{}, err
	}
	var d Digest
	var line []byte
	for e, err := range s.Events(ctx, run.ID, 0) {
		if err != nil {
			return Digest{}, err
		}
		line = append(e.AppendJSON(line[:0]), '\n')
		h.Write(line)
		d.Events++
	}
	d.Hash = hex.EncodeToString(h.Sum(nil))
	return d, nil
}

func sumCommands(ctx context.Context, h hash.Hash, s Source, id ID) error {
	commands, err := s.Commands(ctx, id, 0)
	for _, c := range commands {
		line, e := AppendCommand(nil, c)
		if e != nil {
			return e
		}
		h.Write(append(line, '\n'))
	}
	return err
}

func sumRun(h hash.Hash, r Run) {
	options := r.Options
	if options == nil {
		options = value.NewMap()
	}
	m := value.NewMap(
		"id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "status", string(r.Status), "archived", r.Archived,
		"foreign", r.Foreign,
		"state", r.State, "step", r.Step, "passes", r.Passes, "max_steps", r.MaxSteps, "elapsed",
		r.Elapsed.Milliseconds(),
		"started_at", fsm.FormatTime(r.StartedAt), "updated_at", fsm.FormatTime(r.UpdatedAt.Truncate(time.Millisecond)),
		"ended", r.Ended, "error", r.Error, "why", r.Why, "reconciled_at", fsm.FormatTime(r.Reconciled), "segment",
		r.Segment,
		"file", r.File, "sha256", r.SHA256, "options", options,
	)
	if r.Message != "" {
		m.Set("message", r.Message)
	}
	if r.Reason != "" {
		m.Set("reason", r.Reason)
	}
	if r.Ignored != "" {
		m.Set("ignored_failures", r.Ignored)
	}
	if r.Merge != "" {
		m.Set("merge", r.Merge)
	}
	if r.FailedItems > 0 {
		m.Set("failed_items", r.FailedItems)
	}
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
	h.Write(value.AppendJSON(nil, m))
}
