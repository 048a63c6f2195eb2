package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"loops/persistence"
)

// chunk is how many events are imported in one transaction, so that runs that go on need not wait for long.
const chunk = 1000

// Import implements [persistence.Importer]. The run appears when all of it is there.
func (s *Store) Import(ctx context.Context, rec persistence.Recorded) (err error) {
	id := rec.Run.ID
	if !id.Valid() || !legible(string(id)) || !legible(rec.Run.Loop) || !legible(rec.Run.RunID) {
		return fmt.Errorf("run %q: its name cannot be recorded", id)
	}
	r := &row{Run: rec.Run, epoch: 1}
	if err := s.change(ctx, func(tx *sql.Tx) error { return s.beginImport(ctx, tx, r, rec.Definition) }); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.change(context.WithoutCancel(ctx), func(tx *sql.Tx) error { return s.drop(ctx, tx, r.n) }))
		}
	}()
	texts := &importer{}
	memory, err := persistence.NewMemoryEncoder(texts).Whole(rec.Memory)
	if err != nil {
		return err
	}
	memory = persistence.AppendSum(memory, 0)
	var rows []eventRow
	add := func(tx *sql.Tx) error { return s.d.addEvents(ctx, tx, r.n, rows) }
	for e, err := range rec.Events {
		if err != nil {
			return err
		}
		if r.seq++; e.Seq != r.seq {
			return fmt.Errorf("run %s: event %d is followed by %d", id, r.seq-1, e.Seq)
		}
		if rows = append(rows, eventRow{e.Seq, string(persistence.AppendSum(e.AppendJSON(nil), 0))}); len(rows) == chunk {
			if err := s.change(ctx, add); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := add(tx); err != nil {
			return err
		}
		for _, t := range texts.rows {
			if _, err := tx.ExecContext(ctx, s.q(saveText), r.n, t.name, []byte(t.body)); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, s.q(saveMemory), r.n, int64(r.seq), nil, string(memory)); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, s.q(`UPDATE runs SET status = ?, seq = ?, whole = ? WHERE n = ?`), string(r.Status), int64(r.seq), int64(r.seq), r.n)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("run %s: %w", id, persistence.ErrRemoved))
		}
		return nil
	})
}

// beginImport makes the row of a run, without a status. What an import that died left of it is removed.
func (s *Store) beginImport(ctx context.Context, tx *sql.Tx, r *row, definition []byte) (err error) {
	if err := s.d.serialise(ctx, tx); err != nil {
		return err
	}
	old, err := s.rows(ctx, tx, `WHERE r.id = ?`, string(r.ID))
	if err != nil {
		return err
	}
	if len(old) > 0 {
		if old[0].Status != "" || old[0].until != 0 {
			return fmt.Errorf("run %s: %w", r.ID, fs.ErrExist)
		}
		if err := s.drop(ctx, tx, old[0].n); err != nil {
			return err
		}
	}
	if r.definition, err = s.keepDefinition(ctx, tx, definition); err != nil {
		return err
	}
	return s.insert(ctx, tx, r, "")
}

// drop removes a run that has no status.
func (s *Store) drop(ctx context.Context, tx *sql.Tx, run int64) error {
	for _, text := range []string{
		`DELETE FROM runs WHERE n = ? AND status = ''`,
		`DELETE FROM events WHERE run = ? AND run NOT IN (SELECT n FROM runs)`,
		`DELETE FROM memory WHERE run = ? AND run NOT IN (SELECT n FROM runs)`,
		`DELETE FROM texts WHERE run = ? AND run NOT IN (SELECT n FROM runs)`,
	} {
		if _, err := tx.ExecContext(ctx, s.q(text), run); err != nil {
			return err
		}
	}
	return nil
}

// An importer collects the large texts of a memory.
type importer struct{ rows []textRow }

func (i *importer) Put(name, text string) error {
	i.rows = append(i.rows, textRow{0, name, text})
	return nil
}

func (i *importer) Get(string) ([]byte, error) { return nil, errors.ErrUnsupported }

var (
	_ persistence.Importer = (*Store)(nil)
	_ persistence.Definer  = (*Store)(nil)
	_ persistence.Tailer   = (*Store)(nil)
)
