package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/persistence"
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

// Loose reports whether a journal has saved something that is not durable, or has memory that waits to be saved.
func Loose(j persistence.Journal) bool {
	k := j.(*journal)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loose || !k.decided.IsZero()
}

// Postpone keeps a journal from making its next decisions durable because of the time, until it does so for
// another reason.
func Postpone(j persistence.Journal) {
	k := j.(*journal)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.decided = time.Now().Add(time.Hour)
}

// RenewSoon makes the owner of a run renew its lease at its next look at the clock, within a second.
func RenewSoon(j persistence.Journal) {
	k := j.(*journal)
	due := time.Now().Add(-k.s.lease / 2)
	k.given.Store(&due)
}

// Limit makes SQLite believe that there is room for so many pages.
func (s *Store) Limit(ctx context.Context, pages int) error {
	_, err := s.d.(*sqliteDB).db.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	return err
}

// Patience makes SQLite wait for others for so many milliseconds only. PostgreSQL has no such limit.
func (s *Store) Patience(ctx context.Context, ms int) error {
	d, ok := s.d.(*sqliteDB)
	if !ok {
		return nil
	}
	_, err := d.db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", ms))
	return err
}

// ExecCheckpoints changes the tables of checkpoints behind their back, and says how many rows that concerned.
func ExecCheckpoints(ctx context.Context, c *Checkpoints, text string, args ...any) (n int64, err error) {
	err = c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		res, err := tx.ExecContext(ctx, text, args...)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// AskCheckpoints reads one value.
func AskCheckpoints(ctx context.Context, c *Checkpoints, to any, text string, args ...any) error {
	return c.read.QueryRowContext(ctx, text, args...).Scan(to)
}

// LimitCheckpoints makes SQLite believe that there is room for so many pages.
func LimitCheckpoints(ctx context.Context, c *Checkpoints, pages int) error {
	_, err := c.write.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	return err
}

// WaitCheckpoints sets how long others are waited for.
func WaitCheckpoints(c *Checkpoints, d time.Duration) { c.wait = d }

// HoldCheckpoints does f while it holds the lock to write.
func HoldCheckpoints(ctx context.Context, c *Checkpoints, f func()) error {
	return c.change(ctx, func(context.Context, *sql.Conn) error {
		f()
		return nil
	})
}

// MigrationStatements is how many statements bring an empty database up to date.
func MigrationStatements() (n int) {
	for _, m := range migrations {
		n += strings.Count(m, ";") + 1
	}
	return n
}

// BeforeMigrationStatement does another statement before the nth of all migrations.
func BeforeMigrationStatement(n int, text string) {
	for i, m := range migrations {
		statements := strings.Split(m, ";")
		if n <= len(statements) {
			migrations[i] = strings.Join(slices.Insert(statements, n-1, text), ";")
			return
		}
		n -= len(statements)
	}
}

// RememberedOf reads the memory that a listed run had, without a second look at the run.
func RememberedOf(ctx context.Context, r persistence.Run) (*fsm.Snapshot, error) {
	l := r.Reading.(*reading)
	return l.s.remembered(ctx, l.r)
}

// RolledBack is rolledBack.
func RolledBack(err error) bool { return rolledBack(err) }

// The result codes of SQLite.
const (
	CodeBusy       = codeBusy
	CodeLocked     = codeLocked
	CodeReadOnly   = codeReadOnly
	CodeIOError    = codeIOError
	CodeCorrupt    = codeCorrupt
	CodeFull       = codeFull
	CodeCannotOpen = codeCannotOpen
	CodeProtocol   = codeProtocol
	CodeConstraint = codeConstraint
	CodeNotADB     = codeNotADB
)
