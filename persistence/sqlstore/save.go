package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"loops/persistence"
)

// save does a save, once. If the answer of the database does not come, the save is looked for, and done again
// if it is not there, until a try fails that began a lease later: a process that was stopped meanwhile tries
// once more. The error is a *FencedError if the run was taken over.
func (s *Store) save(ctx context.Context, id persistence.ID, b *batch) error {
	giveUp := time.Now().Add(s.lease)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		last := time.Now().After(giveUp)
		done, err := s.d.save(ctx, b)
		if done {
			return err
		}
		if err != nil && !s.d.passing(err) {
			return s.explained(err)
		}
		at, lookErr := s.lookFor(ctx, b)
		switch {
		case lookErr == nil && at.epoch == b.epoch && at.seq == b.to && b.to > b.from:
			return nil // it was done, and only the answer was lost
		case lookErr == nil && (at.epoch != b.epoch || at.seq > b.from):
			return s.fenced(ctx, s.read, id, b.run, b.epoch)
		case lookErr == nil && at.seq < b.from:
			// The server crashed and lost what was not durable. We still have it.
			if len(b.events) == 0 || b.events[0].seq > at.seq+1 {
				return fmt.Errorf("%s has lost what it had made durable: run %s has %d events there, and had %d",
					s.name, id, at.seq, b.from)
			}
			b.from = at.seq
		case errors.Is(lookErr, sql.ErrNoRows):
			return s.fenced(ctx, s.read, id, b.run, b.epoch)
		case lookErr != nil && !s.d.passing(lookErr):
			return s.explained(lookErr)
		}
		if last {
			if err == nil {
				err = lookErr
			}
			return fmt.Errorf("%s did not take it for %v: %w", s.name, s.lease, s.explained(err))
		}
		time.Sleep(wait)
	}
}

// A standing is how far a run is recorded, and in which epoch.
type standing struct {
	epoch int64
	seq   uint64
}

// lookFor asks how far a run is. A save is there with its last event, or not at all.
func (s *Store) lookFor(ctx context.Context, b *batch) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.lease)
	defer cancel()
	var at standing
	var seq int64
	err := s.read.QueryRowContext(ctx, s.q(`SELECT r.epoch, coalesce(max(e.seq), 0) FROM runs r
		LEFT JOIN events e ON e.run = r.n AND e.seq = r.seq WHERE r.n = ?
			GROUP BY r.epoch`), b.run).Scan(&at.epoch, &seq)
	at.seq = uint64(seq)
	return at, err
}

// fenced says who took a run over.
func (s *Store) fenced(ctx context.Context, q queryer, id persistence.ID, run, epoch int64) error {
	r, err := s.scan(q.QueryRowContext(ctx, s.q(`SELECT `+columns+fromRuns+`WHERE r.n = ?`), run).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: run %s: %w", s.name, id, persistence.ErrRemoved)
	case err != nil:
		return &persistence.FencedError{ID: id}
	case r.epoch == epoch:
		return fmt.Errorf("%s: run %s has %d events, which this process did not record: %w", s.name, id, r.seq,
			persistence.ErrFenced)
	}
	return &persistence.FencedError{ID: id, Owner: r.Owner, Why: r.Why}
}

func (s *Store) explained(err error) error {
	if err == nil {
		return nil
	}
	return s.d.explain(err)
}
