package sqlstore

import (
	"context"
	"database/sql"
)

// Redefine implements [persistence.Journal].
func (j *journal) Redefine(ctx context.Context, definition []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	run, epoch := j.next.run, j.next.epoch
	err := j.s.change(ctx, func(tx *sql.Tx) error {
		if err := j.s.d.serialise(ctx, tx); err != nil { // Remove looks for definitions that no run has
			return err
		}
		hash, err := j.s.keepDefinition(ctx, tx, definition)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, j.s.q(`UPDATE runs SET definition = ? WHERE n = ? AND epoch = ?`), hash, run,
			epoch)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return j.s.fenced(ctx, tx, j.run.ID, run, epoch)
	})
	if err != nil {
		return j.fail(err)
	}
	return nil
}
