package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"loops/persistence/checkpoint"
)

// Append implements [checkpoint.Log]. All events are appended in one transaction with one sync: also after a crash all
// or none of them are there.
func (c *Checkpoints) Append(ctx context.Context, run string, events ...checkpoint.Event) (uint64, error) {
	if c == nil {
		return 0, nil
	}
	if err := checkpoint.CheckRun(run); err != nil {
		return 0, err
	}
	if len(events) == 0 {
		_, last, err := c.log(ctx, run)
		return last, err
	}
	var last uint64
	err := c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		var log, end int64
		if err := tx.QueryRowContext(ctx, `INSERT INTO checkpoint_logs (run, last) VALUES (?, ?)
			ON CONFLICT (run) DO UPDATE SET last = last + excluded.last
				RETURNING n, last`, run, len(events)).Scan(&log, &end); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO checkpoint_events (log, seq, body) VALUES (?, ?, ?)`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		last = uint64(end)
		for i, e := range events {
			e, err := checkpoint.Numbered(e, last-uint64(len(events)-1-i))
			if err != nil {
				return err
			}
			body, err := checkpoint.EncodeEvent(e, c.Clock.Now())
			if err != nil {
				return err
			}
			if _, err := stmt.ExecContext(ctx, log, int64(e.Seq), body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("no events can be appended for run %s: %w", run, err)
	}
	return last, nil
}

// log returns which log is a run's, and the number of its last event; 0 if there is none.
func (c *Checkpoints) log(ctx context.Context, run string) (log int64, last uint64, err error) {
	err = c.patiently(ctx, func(ctx context.Context) error {
		var end int64
		err := c.read.QueryRowContext(ctx, `SELECT n, last FROM checkpoint_logs WHERE run = ?`, run).Scan(&log, &end)
		if errors.Is(err, sql.ErrNoRows) {
			log, end, err = 0, 0, nil
		}
		last = uint64(end)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("events of run %s: %w", run, err)
	}
	return log, last, nil
}

// Since implements [checkpoint.Log]. A log that is cleared meanwhile ends there.
func (c *Checkpoints) Since(ctx context.Context, run string, seq uint64) iter.Seq2[checkpoint.Event, error] {
	return func(yield func(checkpoint.Event, error) bool) {
		if c == nil {
			return
		}
		fail := func(err error) { yield(checkpoint.Event{}, err) }
		if err := checkpoint.CheckRun(run); err != nil {
			fail(err)
			return
		}
		log, last, err := c.log(ctx, run)
		if err != nil {
			fail(err)
			return
		}
		missing := func(from, to uint64) bool {
			what := fmt.Sprintf("event %d of run %s is missing", from, run)
			if from < to {
				what = fmt.Sprintf("events %d to %d of run %s are missing", from, to, run)
			}
			return yield(checkpoint.Event{}, &checkpoint.DamageError{File: c.path, What: what})
		}
		for seq < last {
			page, err := c.page(ctx, log, seq, last)
			if err != nil {
				fail(fmt.Errorf("events of run %s: %w", run, err))
				return
			}
			if len(page) == 0 {
				switch now, _, err := c.log(ctx, run); {
				case err != nil:
					fail(err)
				case now == log:
					missing(seq+1, last)
				}
				return
			}
			for _, r := range page {
				if ctx.Err() != nil {
					fail(context.Cause(ctx))
					return
				}
				if r.seq > seq+1 && !missing(seq+1, r.seq-1) {
					return
				}
				seq = r.seq
				if !yield(c.event(run, r)) {
					return
				}
			}
		}
	}
}

// A storedEvent is a row of a log.
type storedEvent struct {
	seq  uint64
	body []byte
}

func (c *Checkpoints) event(run string, r storedEvent) (checkpoint.Event, error) {
	e, err := checkpoint.DecodeEvent(r.body)
	if err == nil && e.Seq != r.seq {
		err = &checkpoint.DamageError{What: fmt.Sprintf("event %d is in its place", e.Seq)}
	}
	if err != nil {
		return checkpoint.Event{}, c.damaged(fmt.Sprintf("event %d of run %s", r.seq, run), err)
	}
	return e, nil
}

// A page of a log ends with the event that makes it longer than this. Nothing is held open while its reader is at work.
const (
	pageEvents = 500
	pageBytes  = 1 << 20
)

// page returns the first events behind seq.
func (c *Checkpoints) page(ctx context.Context, log int64, seq, last uint64) (page []storedEvent, err error) {
	err = c.patiently(ctx, func(ctx context.Context) error {
		page = nil
		rows, err := c.read.QueryContext(ctx,
			`SELECT seq, body FROM checkpoint_events WHERE log = ? AND seq > ? AND seq <= ?
			ORDER BY seq LIMIT ?`, log, int64(seq), int64(last), pageEvents)
		if err != nil {
			return err
		}
		defer rows.Close()
		for size := 0; size < pageBytes && rows.Next(); {
			var n int64
			var body []byte
			if err := rows.Scan(&n, &body); err != nil {
				return err
			}
			page = append(page, storedEvent{uint64(n), body})
			size += len(body)
		}
		return rows.Err()
	})
	return page, err
}

// Clear implements [checkpoint.Log].
func (c *Checkpoints) Clear(ctx context.Context, run string) error {
	if c == nil {
		return nil
	}
	if err := checkpoint.CheckRun(run); err != nil {
		return err
	}
	err := c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if _, err := tx.ExecContext(ctx,
			`DELETE FROM checkpoint_events WHERE log IN (SELECT n FROM checkpoint_logs WHERE run = ?)`,
			run); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM checkpoint_logs WHERE run = ?`, run)
		return err
	})
	if err != nil {
		return fmt.Errorf("the events of run %s cannot be cleared: %w", run, err)
	}
	return nil
}
