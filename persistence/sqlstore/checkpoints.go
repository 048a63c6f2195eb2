package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/persistence/checkpoint"
)

// Checkpoints keeps checkpoints and events in a database of SQLite: it is a [checkpoint.Store] and a [checkpoint.Log].
// Several goroutines may use it at once, and several processes the same file. A writer waits for others for up to 30
// seconds, then the error is [checkpoint.ErrBusy]; a reader never waits. What was written is synced when a method
// returns. The checkpoint before the newest is kept and used while that one is damaged; a damaged one that was replaced
// stays in its table, marked, until the run is deleted. The methods of nil do nothing and find nothing.
type Checkpoints struct {
	Clock checkpoint.Clock // for the times of checkpoints and events; set before the first use

	path  string
	file  sameFile
	wait  time.Duration
	write *sql.DB // has one connection
	read  *sql.DB
}

var (
	_ checkpoint.Store = (*Checkpoints)(nil)
	_ checkpoint.Log   = (*Checkpoints)(nil)
)

// Save implements [checkpoint.Store].
func (c *Checkpoints) Save(ctx context.Context, p *checkpoint.Checkpoint) error {
	if c == nil {
		return nil
	}
	body, err := checkpoint.Encode(p, c.Clock.Now())
	if err != nil {
		return err
	}
	err = c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		rows, err := c.saved(ctx, tx, p.Run)
		if err != nil {
			return err
		}
		if err := retire(ctx, tx, p.Run, rows); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO checkpoints (run, body) VALUES (?, ?)`, p.Run, body)
		return err
	})
	if err != nil {
		return fmt.Errorf("run %s cannot be saved: %w", p.Run, err)
	}
	return nil
}

// retire makes the newest checkpoint the one before, if it is good; else it is put aside and the one before stays.
func retire(ctx context.Context, tx *sql.Conn, run string, rows []savedRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := checkpoint.DecodeInterrupted(rows[0].body, run)
	switch {
	case errors.Is(err, checkpoint.ErrDamaged):
		if _, err := tx.ExecContext(ctx, `DELETE FROM checkpoints WHERE run = ? AND damaged = 1`, run); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE checkpoints SET damaged = 1 WHERE n = ?`, rows[0].n)
		return err
	case err != nil:
		return err // not understood, so not replaced
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM checkpoints WHERE run = ? AND damaged = 0 AND n < ?`, run, rows[0].n)
	return err
}

// A savedRow is a stored checkpoint.
type savedRow struct {
	n    int64
	body []byte
}

// saved returns the checkpoints of a run, the newest first.
func (c *Checkpoints) saved(ctx context.Context, q queryer, run string) (list []savedRow, err error) {
	rows, err := q.QueryContext(ctx,
		`SELECT n, body FROM checkpoints WHERE run = ? AND damaged = 0 ORDER BY n DESC LIMIT 2`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r savedRow
		if err := rows.Scan(&r.n, &r.body); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Load implements [checkpoint.Store].
func (c *Checkpoints) Load(ctx context.Context, run string) (*checkpoint.Checkpoint, error) {
	if c == nil {
		return nil, noCheckpoint(run)
	}
	return newestGood(ctx, c, run, checkpoint.Decode)
}

func noCheckpoint(run string) error { return fmt.Errorf("run %s: %w", run, checkpoint.ErrNotFound) }

// newestGood decodes the newest checkpoint of a run; if it is damaged, the one before comes with the error, if
// that is good.
func newestGood[T any](ctx context.Context, c *Checkpoints, run string,
	decode func(body []byte, run string) (T, error),
) (none T, err error) {
	if err := checkpoint.CheckRun(run); err != nil {
		return none, err
	}
	var rows []savedRow
	err = c.patiently(ctx, func(ctx context.Context) (err error) {
		rows, err = c.saved(ctx, c.read, run)
		return err
	})
	if err != nil {
		return none, fmt.Errorf("run %s: %w", run, err)
	}
	if len(rows) == 0 {
		return none, noCheckpoint(run)
	}
	p, err := decode(rows[0].body, run)
	if err == nil {
		return p, nil
	}
	err = c.damaged(fmt.Sprintf("the newest checkpoint of run %s", run), err)
	if !errors.Is(err, checkpoint.ErrDamaged) || len(rows) < 2 {
		return none, err
	}
	p, e := decode(rows[1].body, run)
	if e != nil {
		return none, fmt.Errorf("%w; %w", err, c.damaged(fmt.Sprintf("the checkpoint of run %s before it", run), e))
	}
	return p, err
}

// damaged says where the damage is that checkpoint.Decode found.
func (c *Checkpoints) damaged(where string, err error) error {
	if d, ok := errors.AsType[*checkpoint.DamageError](err); ok {
		return &checkpoint.DamageError{File: c.path, What: where + ": " + d.What}
	}
	return fmt.Errorf("%s: %s: %w", c.path, where, err)
}

// Delete implements [checkpoint.Store].
func (c *Checkpoints) Delete(ctx context.Context, run string) error {
	if c == nil {
		return nil
	}
	if err := checkpoint.CheckRun(run); err != nil {
		return err
	}
	err := c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM checkpoints WHERE run = ?`, run)
		return err
	})
	if err != nil {
		return fmt.Errorf("run %s cannot be deleted: %w", run, err)
	}
	return nil
}

// ListInterrupted implements [checkpoint.Store].
func (c *Checkpoints) ListInterrupted(ctx context.Context) ([]checkpoint.Interrupted, error) {
	if c == nil {
		return nil, nil
	}
	var list []checkpoint.Interrupted
	var spoilt []string
	err := c.patiently(ctx, func(ctx context.Context) error {
		list, spoilt = nil, nil
		rows, err := c.read.QueryContext(ctx, `SELECT run, body FROM checkpoints
			WHERE n IN (SELECT max(n) FROM checkpoints WHERE damaged = 0 GROUP BY run)`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var run string
			var body sql.RawBytes
			if err := rows.Scan(&run, &body); err != nil {
				return err
			}
			i, err := checkpoint.DecodeInterrupted(body, run)
			if err != nil {
				spoilt = append(spoilt, run)
				continue
			}
			list = append(list, i)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, run := range spoilt {
		i, err := newestGood(ctx, c, run, checkpoint.DecodeInterrupted)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // deleted meanwhile
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		i.Run, i.Err = run, err
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b checkpoint.Interrupted) int {
		return cmp.Or(b.SavedAt.Compare(a.SavedAt), strings.Compare(a.Run, b.Run))
	})
	return list, nil
}
