package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/persistence"
)

// A Ledger is the ledger of one of the projects that record in a database. It implements [persistence.Ledger].
type Ledger struct {
	s       *Store
	project string
}

// Ledger returns the ledger of the projects with this name: those with one name share it, on whatever machine
// they are. It is closed with the store.
func (s *Store) Ledger(project string) *Ledger { return &Ledger{s, project} }

// Add implements [persistence.Ledger].
func (l *Ledger) Add(ctx context.Context, e persistence.Entry) error {
	if err := fits(e); err != nil {
		return err
	}
	return l.s.changeDurably(ctx, func(tx *sql.Tx) error {
		if err := l.s.d.serialise(ctx, tx); err != nil {
			return err
		}
		behind := `SELECT count(*) FROM ledger WHERE project = ? AND list = ? AND entry = ?`
		if e.Last {
			behind = `SELECT count(*) FROM ledger WHERE project = ? AND list = ? AND entry >= ?`
		}
		var n int
		if err := tx.QueryRowContext(ctx, l.s.q(behind), l.project, e.List, e.Key).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%s of %s: %w", e.Key, e.List, persistence.ErrTaken)
		}
		_, err := tx.ExecContext(ctx,
			l.s.q(`INSERT INTO ledger (project, list, entry, rev, open, added, body) VALUES (?, ?, ?, 1, ?, ?, ?)`),
			l.project, e.List, e.Key, flag(e.Open), e.Added.UnixMilli(), e.Body)
		return err
	})
}

// Change implements [persistence.Ledger].
func (l *Ledger) Change(ctx context.Context, e persistence.Entry) (persistence.Entry, error) {
	if err := fits(e); err != nil {
		return e, err
	}
	err := l.s.changeDurably(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx,
			l.s.q(
				`UPDATE ledger SET rev = rev + 1, open = ?, body = ? WHERE project = ? AND list = ? AND entry = ?
					AND rev = ?`),
			flag(e.Open), e.Body, l.project, e.List, e.Key, e.Rev)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return fmt.Errorf("%s of %s: %w", e.Key, e.List, persistence.ErrChanged)
	})
	if err == nil {
		e.Rev++
	}
	return e, err
}

// Entries implements [persistence.Ledger].
func (l *Ledger) Entries(ctx context.Context, list string, keys ...string) ([]persistence.Entry, error) {
	if err := l.s.d.there(); err != nil {
		return nil, err
	}
	query, args := `SELECT entry, rev, open, added, body FROM ledger WHERE project = ? AND list = ?`,
		[]any{l.project, list}
	if len(keys) > 0 {
		query += ` AND entry IN (?` + strings.Repeat(`, ?`, len(keys)-1) + `)`
		for _, key := range keys {
			args = append(args, key)
		}
	}
	rs, err := l.s.read.QueryContext(ctx, translate(l.s.d, query), args...)
	all, err := collect(rs, err, func(scan func(...any) error) (e persistence.Entry, err error) {
		var open, added int64
		e.List = list
		err = scan(&e.Key, &e.Rev, &open, &added, &e.Body)
		e.Open, e.Added = open != 0, time.UnixMilli(added).UTC()
		return e, err
	})
	slices.SortFunc(all, func(a, b persistence.Entry) int { return strings.Compare(a.Key, b.Key) })
	return all, l.s.explained(err)
}

// Trim implements [persistence.Ledger].
func (l *Ledger) Trim(ctx context.Context, list string, before time.Time, keep int) error {
	all, err := l.Entries(ctx, list)
	if err != nil || len(all) <= keep {
		return err
	}
	return l.s.change(ctx, func(tx *sql.Tx) error {
		for _, e := range all[:len(all)-keep] {
			if e.Open || !e.Added.Before(before) {
				continue
			}
			if _, err := tx.ExecContext(ctx,
				l.s.q(`DELETE FROM ledger WHERE project = ? AND list = ? AND entry = ? AND open = 0`), l.project,
				list, e.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// fits reports what keeps an entry from being a row.
func fits(e persistence.Entry) error {
	switch {
	case len(e.Body) > persistence.MostBody:
		return fmt.Errorf("%s of %s: its body has %d bytes, at most %d are kept", e.Key, e.List, len(e.Body),
			persistence.MostBody)
	case !legible(e.List) || !legible(e.Key):
		return fmt.Errorf("%q of %q: its name is not valid text", e.Key, e.List)
	}
	return nil
}

var _ persistence.Ledger = (*Ledger)(nil)
