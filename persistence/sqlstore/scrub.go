package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"loops/persistence"
	"loops/persistence/snapshot"
)

// scrubChunk is how many rows of a table are read at once.
const scrubChunk = 500

// Scrub implements [persistence.Store]: it is one transaction. SQLite also overwrites what was there; in PostgreSQL
// it stays in the files of the server until they are vacuumed.
func (s *Store) Scrub(ctx context.Context, id persistence.ID, change func(string) string,
	beside func() error,
) (changed bool, err error) {
	s.flush(id)
	err = s.d.erasing(ctx, func() error {
		return s.changeDurably(ctx, func(tx *sql.Tx) error {
			changed = false
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
			x := &scrubbing{s: s, tx: tx, run: r.n}
			x.rewriter = snapshot.Rewriter{In: x, Change: change}
			if err := x.all(ctx, r); err != nil {
				return err
			}
			changed = x.rewriter.Changed
			return beside()
		})
	})
	return changed, s.explained(err)
}

// A scrubbing changes the rows of a run within a transaction. It implements [snapshot.Texts].
type scrubbing struct {
	s        *Store
	tx       *sql.Tx
	run      int64
	rewriter snapshot.Rewriter
}

// Put implements [snapshot.Texts].
func (x *scrubbing) Put(name, text string) error {
	_, err := x.tx.Exec(x.s.q(`INSERT INTO texts (run, name, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`), x.run,
		name, []byte(text))
	return err
}

// Get implements [snapshot.Texts].
func (x *scrubbing) Get(name string) (text []byte, err error) {
	err = x.tx.QueryRow(x.s.q(`SELECT body FROM texts WHERE run = ? AND name = ?`), x.run, name).Scan(&text)
	return text, err
}

func (x *scrubbing) all(ctx context.Context, r *row) error {
	for _, c := range [...]struct{ table, column, key string }{
		{"events", "body", "seq"},
		{"memory", "patch", "seq"},
		{"memory", "whole", "seq"},
		{"commands", "body", "n"},
		{"placements", "request", "run"},
		{"placements", "note", "run"},
	} {
		if err := x.column(ctx, c.table, c.column, c.key); err != nil {
			return err
		}
	}
	if err := x.about(ctx); err != nil {
		return err
	}
	if err := x.definition(ctx, r.definition); err != nil {
		return err
	}
	return x.texts(ctx)
}

// column changes the lines in a column of the rows of the run.
func (x *scrubbing) column(ctx context.Context, table, column, key string) error {
	type line struct {
		key  int64
		text string
	}
	after := int64(-1)
	for {
		rs, err := x.tx.QueryContext(ctx,
			x.s.q(fmt.Sprintf(`SELECT %s, %s FROM %s WHERE run = ? AND %s > ? AND %s IS NOT NULL ORDER BY %s LIMIT ?`,
				key, column, table, key, column, key)), x.run, after, scrubChunk)
		lines, err := collect(rs, err, func(scan func(...any) error) (l line, err error) {
			err = scan(&l.key, &l.text)
			return l, err
		})
		if err != nil {
			return err
		}
		for _, l := range lines {
			after = l.key
			b, err := x.rewriter.Line([]byte(l.text))
			if err == nil && string(b) != l.text {
				_, err = x.tx.ExecContext(ctx,
					x.s.q(fmt.Sprintf(`UPDATE %s SET %s = ? WHERE run = ? AND %s = ?`, table, column, key)),
					string(b), x.run, l.key)
			}
			if err != nil {
				return err
			}
		}
		if len(lines) < scrubChunk || key == "run" {
			return nil
		}
	}
}

// about changes what a listing says of the run.
func (x *scrubbing) about(ctx context.Context) error {
	var was string
	if err := x.tx.QueryRowContext(ctx, x.s.q(`SELECT about FROM runs WHERE n = ?`), x.run).Scan(&was); err != nil {
		return err
	}
	is, err := x.rewriter.Line([]byte(was))
	if err != nil || string(is) == was {
		return err
	}
	_, err = x.tx.ExecContext(ctx, x.s.q(`UPDATE runs SET about = ? WHERE n = ?`), string(is), x.run)
	return err
}

// definition changes the text that the run is made of, which other runs may have as well.
func (x *scrubbing) definition(ctx context.Context, hash string) error {
	if hash == "" {
		return nil
	}
	var text []byte
	if err := x.tx.QueryRowContext(ctx, x.s.q(`SELECT body FROM definitions WHERE hash = ?`), hash).Scan(
		&text); err != nil {
		return err
	}
	changed := x.rewriter.Text(string(text))
	if changed == string(text) {
		return nil
	}
	is, err := x.s.keepDefinition(ctx, x.tx, []byte(changed))
	if err != nil {
		return err
	}
	if _, err := x.tx.ExecContext(ctx, x.s.q(`UPDATE runs SET definition = ? WHERE n = ?`), is, x.run); err != nil {
		return err
	}
	return x.s.dropDefinition(ctx, x.tx, hash)
}

// texts removes the large texts that became others: nothing names them any more.
func (x *scrubbing) texts(ctx context.Context) error {
	rs, err := x.tx.QueryContext(ctx, x.s.q(`SELECT name FROM texts WHERE run = ?`), x.run)
	names, err := collect(rs, err, scanText)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := x.Get(name)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != name ||
			x.rewriter.Change(string(text)) == string(text) {
			continue
		}
		if _, err := x.tx.ExecContext(ctx, x.s.q(`DELETE FROM texts WHERE run = ? AND name = ?`), x.run, name); err !=
			nil {
			return err
		}
		x.rewriter.Changed = true
	}
	return nil
}
