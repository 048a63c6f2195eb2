package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"loops/persistence"
)

// tidyBatch is how many runs one transaction changes: other writers wait for it.
const tidyBatch = 250

// Interrupt implements [persistence.Store].
func (s *Store) Interrupt(ctx context.Context, id persistence.ID, at time.Time, why string) error {
	return s.settleOne(ctx, persistence.Tidying{ID: id, Interrupt: true, At: at, Why: why})
}

// Archive implements [persistence.Store].
func (s *Store) Archive(ctx context.Context, id persistence.ID) error {
	return s.settleOne(ctx, persistence.Tidying{ID: id})
}

func (s *Store) settleOne(ctx context.Context, todo persistence.Tidying) error {
	results := make([]error, 1)
	err := s.change(ctx, func(tx *sql.Tx) error { return s.settle(ctx, tx, []persistence.Tidying{todo}, results) })
	if err != nil {
		return err
	}
	return results[0]
}

// Tidy implements [persistence.Store]: a transaction for each run would be made durable a thousand times where
// a thousand died.
func (s *Store) Tidy(ctx context.Context, todo []persistence.Tidying) []error {
	errs := make([]error, 0, len(todo))
	for batch := range slices.Chunk(todo, tidyBatch) {
		if ctx.Err() != nil {
			break
		}
		results := make([]error, len(batch))
		err := s.change(ctx, func(tx *sql.Tx) error { return s.settle(ctx, tx, batch, results) })
		if err != nil {
			for i := range results {
				results[i] = err
			}
		}
		errs = append(errs, results...)
	}
	return errs
}

// settle changes runs that no process owns, and says of each what kept it from that. The former owner is fenced off.
func (s *Store) settle(ctx context.Context, tx *sql.Tx, todo []persistence.Tidying, results []error) error {
	if err := s.d.serialise(ctx, tx); err != nil {
		return err
	}
	rows, err := s.locked(ctx, tx, todo)
	if err != nil {
		return err
	}
	for i, t := range todo {
		r := rows[t.ID]
		if results[i] = settled(r, t); results[i] != nil {
			continue
		}
		if _, err := tx.ExecContext(ctx,
			s.q(`UPDATE runs SET status = ?, archived = ?, about = ?, epoch = epoch + 1 WHERE n = ?`),
			string(r.Status), flag(r.Archived), string(appendAbout(nil, &r.Run)), r.n); err != nil {
			return err
		}
		if r.until == 0 {
			continue // it has no lease
		}
		if _, err = tx.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ?`), r.n); err != nil {
			return err
		}
	}
	return nil
}

// locked returns the rows of runs, which no one else changes before the end of the transaction.
func (s *Store) locked(ctx context.Context, tx *sql.Tx, todo []persistence.Tidying) (map[persistence.ID]*row, error) {
	var ids []any
	for _, t := range todo {
		if legible(string(t.ID)) {
			ids = append(ids, string(t.ID))
		}
	}
	found := make(map[persistence.ID]*row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	ours, own, err := s.ours(ctx, `r.`)
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, tx, `WHERE r.status <> '' AND r.id IN (`+marks(len(ids))+`)`+ours+s.d.lockRow(),
		append(ids, own...)...)
	for _, r := range rows {
		found[r.ID] = r
	}
	return found, err
}

// settled makes a row what is to become of it, or returns why it cannot.
func settled(r *row, todo persistence.Tidying) error {
	switch {
	case r == nil:
		return fmt.Errorf("%s: %w", todo.ID, persistence.ErrNotFound)
	case r.Held:
		return &persistence.HeldError{ID: todo.ID, Owner: r.Owner}
	case todo.Interrupt && (r.Status != persistence.Running || r.Archived):
		return fmt.Errorf("running run %s: %w", todo.ID, persistence.ErrNotFound)
	case todo.Interrupt:
		r.Status, r.Reconciled, r.Why = persistence.Interrupted, todo.At, todo.Why
	case r.Status == persistence.Running, r.Status == persistence.Queued:
		return fmt.Errorf("run %s has not ended", todo.ID)
	}
	r.Archived = true
	return nil
}
