package sqlstore

import (
	"context"
	"database/sql"

	"loops/persistence"
)

// Remove implements [persistence.Store]. The database uses the room again for other runs; a file of SQLite does not get
// shorter by it.
func (s *Store) Remove(ctx context.Context, id persistence.ID) error {
	err := s.change(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		r, err := s.find(ctx, tx, id, s.d.lockRow())
		if err != nil {
			return err
		}
		if r.Held {
			return &persistence.HeldError{ID: id, Owner: r.Owner}
		}
		for _, text := range []string{
			`DELETE FROM runs WHERE n = ?`,
			`DELETE FROM leases WHERE run = ?`,
			`DELETE FROM events WHERE run = ?`,
			`DELETE FROM memory WHERE run = ?`,
			`DELETE FROM texts WHERE run = ?`,
		} {
			if _, err := tx.ExecContext(ctx, s.q(text), r.n); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, s.q(`DELETE FROM definitions WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE definition = ?)`),
			r.definition, r.definition)
		return err
	})
	if err != nil {
		return err
	}
	if err := persistence.RemoveTree(s.work(id)); err != nil {
		return &persistence.RemainsError{ID: id, Err: err}
	}
	return nil
}

// Size implements [persistence.Store]. It counts texts, not the room that the database needs around them.
func (s *Store) Size(ctx context.Context, id persistence.ID) (int64, error) {
	r, err := s.find(ctx, s.read, id, "")
	if err != nil {
		return 0, s.explained(err)
	}
	var recorded int64
	err = s.read.QueryRowContext(ctx, s.q(`SELECT
		(SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE run = ?) +
		(SELECT coalesce(sum(coalesce(octet_length(patch), 0) + coalesce(octet_length(whole), 0)), 0) FROM memory WHERE run = ?) +
		(SELECT coalesce(sum(octet_length(body)), 0) FROM texts WHERE run = ?)`), r.n, r.n, r.n).Scan(&recorded)
	if err != nil {
		return 0, s.explained(err)
	}
	files, err := persistence.TreeSize(s.work(id))
	return recorded + files, err
}
