package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"loops/persistence"
)

// Send implements [persistence.Store]. Senders wait for one another, and for processes that take runs over or
// remove them; the owner's saves do not wait.
func (s *Store) Send(ctx context.Context, id persistence.ID, c persistence.Command) (persistence.Command, error) {
	sent := c
	err := s.changeDurably(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		r, err := s.find(ctx, tx, id, "")
		if err != nil {
			return err
		}
		if err := r.Takes(c); err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRowContext(ctx, s.q(`SELECT coalesce(max(n), 0) FROM commands WHERE run = ?`), r.n).Scan(
			&last); err != nil {
			return err
		}
		sent = c.Numbered(uint64(last) + 1)
		return s.addCommands(ctx, tx, r.n, []persistence.Command{sent})
	})
	return sent, err
}

// Commands implements [persistence.Store]. It is one query that an index answers.
func (s *Store) Commands(ctx context.Context, id persistence.ID, after uint64) (commands []persistence.Command,
	err error,
) {
	if !legible(string(id)) {
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	if err := s.d.there(); err != nil {
		return nil, fmt.Errorf("%w: %w", persistence.ErrNotFound, err)
	}
	ours, own, err := s.ours(ctx, `r.`)
	if err != nil {
		return nil, s.explained(err)
	}
	rs, err := s.read.QueryContext(ctx,
		s.q(`SELECT c.n, c.body FROM runs r LEFT JOIN commands c ON c.run = r.n AND c.n > ?
		WHERE r.id = ? AND r.status <> ''`+ours+` ORDER BY c.n`),
		append([]any{int64(min(after, 1<<62)), string(id)}, own...)...)
	found := false
	var damage error
	_, err = collect(rs, err, func(scan func(...any) error) (none struct{}, err error) {
		var n sql.NullInt64
		var body sql.NullString
		if err := scan(&n, &body); err != nil || !n.Valid {
			found = found || err == nil
			return none, err
		}
		found = true
		c, err := persistence.ParseCommand([]byte(body.String))
		if err == nil && c.N != uint64(n.Int64) {
			err = errors.New("it has another number")
		}
		switch {
		case err == nil:
			commands = append(commands, c)
		case damage == nil:
			damage = &persistence.DamageError{
				File: s.name, Offset: -1,
				What: fmt.Sprintf("command %d of run %s cannot be read: %v", n.Int64, id, err),
			}
		}
		return none, nil
	})
	switch {
	case err != nil:
		return nil, s.explained(err)
	case !found:
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	return commands, damage
}

// commandsAtOnce is how many commands one statement adds.
const commandsAtOnce = 500

// addCommands adds commands to a run.
func (s *Store) addCommands(ctx context.Context, tx *sql.Tx, run int64, all []persistence.Command) error {
	for len(all) > 0 {
		some := all[:min(len(all), commandsAtOnce)]
		all = all[len(some):]
		args := make([]any, 0, 3*len(some))
		for _, c := range some {
			body, err := persistence.AppendCommand(nil, c)
			if err != nil {
				return err
			}
			args = append(args, run, int64(c.N), string(body))
		}
		text := `INSERT INTO commands (run, n, body) VALUES (?, ?, ?)` + strings.Repeat(`, (?, ?, ?)`, len(some)-1)
		if _, err := tx.ExecContext(ctx, translate(s.d, text), args...); err != nil {
			return err
		}
	}
	return nil
}
