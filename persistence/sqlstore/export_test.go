package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
)

// Exec changes the database behind the store's back, and says how many rows that concerned.
func (s *Store) Exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, s.q(text), args...)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// Ask reads one value.
func (s *Store) Ask(ctx context.Context, to any, text string, args ...any) error {
	return s.read.QueryRowContext(ctx, s.q(text), args...).Scan(to)
}

// Limit makes SQLite believe that there is room for so many pages.
func (s *Store) Limit(ctx context.Context, pages int) error {
	_, err := s.d.(*sqliteDB).db.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	return err
}

// Patience makes SQLite wait for others for so many milliseconds only.
func (s *Store) Patience(ctx context.Context, ms int) error {
	_, err := s.d.(*sqliteDB).db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", ms))
	return err
}
