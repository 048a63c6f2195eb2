package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"loops/persistence"
	"loops/persistence/snapshot"
)

// chunk is how many events are imported in one transaction, so that running runs need not wait for long.
const chunk = 1000

// Import implements [persistence.Store]. The run appears when all of it is there.
func (s *Store) Import(ctx context.Context, rec persistence.Recorded) (err error) {
	id := rec.Run.ID
	if !id.Valid() || !legible(string(id)) || !legible(rec.Run.Loop) || !legible(rec.Run.RunID) {
		return fmt.Errorf("run %q: its name cannot be recorded", id)
	}
	place, err := s.place(ctx)
	if err == nil {
		err = s.finishRemoval(ctx, id)
	}
	if err != nil {
		return err
	}
	r := &row{Run: rec.Run, epoch: 1, project: s.project()}
	r.Owner, r.Held = persistence.Owner{}, false
	if err := s.change(ctx, func(tx *sql.Tx) error {
		return s.beginImport(ctx, tx, r, rec.Definition, place)
	}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			ctx := context.WithoutCancel(ctx)
			err = errors.Join(err, s.change(ctx, func(tx *sql.Tx) error {
				return errors.Join(s.d.serialise(ctx, tx), s.drop(ctx, tx, r.n))
			}))
		}
	}()
	texts := &importer{}
	memory, err := snapshot.NewEncoder(texts).Whole(rec.Memory)
	if err != nil {
		return err
	}
	memory = snapshot.AppendSum(memory, 0)
	var rows []eventRow
	add := func(tx *sql.Tx) error {
		if err := s.importing(ctx, tx, r); err != nil {
			return err
		}
		return s.d.addEvents(ctx, tx, r.n, rows)
	}
	for e, err := range rec.Events {
		if err != nil {
			return err
		}
		if r.seq++; e.Seq != r.seq {
			return fmt.Errorf("run %s: event %d is followed by %d", id, r.seq-1, e.Seq)
		}
		if rows = append(rows, eventRow{e.Seq, string(snapshot.AppendSum(e.AppendJSON(nil), 0))}); len(rows) == chunk {
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
		res, err := tx.ExecContext(ctx, s.q(`UPDATE runs SET status = ?, seq = ?, whole = ? WHERE n = ?`),
			string(r.Status), int64(r.seq), int64(r.seq), r.n)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("run %s: %w", id, persistence.ErrRemoved))
		}
		if err := s.addCommands(ctx, tx, r.n, rec.Commands); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ?`), r.n)
		return err
	})
}

// importing gives a run that is being imported a lease that names no process. When it has run out, the import died.
func (s *Store) importing(ctx context.Context, tx *sql.Tx, r *row) error {
	res, err := tx.ExecContext(ctx, s.q(`UPDATE runs SET epoch = epoch WHERE n = ?`), r.n)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 { // the lease had run out, or it was imported again
		return errors.Join(err, fmt.Errorf("run %s: %w", r.ID, persistence.ErrRemoved))
	}
	return s.own(ctx, tx, r, 0, persistence.Spec{StartedAt: r.StartedAt}, nil, "")
}

// beginImport makes the row of a run, without a status. What an import that died left of it is removed.
func (s *Store) beginImport(ctx context.Context, tx *sql.Tx, r *row, definition []byte, place string) (err error) {
	if err := s.d.serialise(ctx, tx); err != nil {
		return err
	}
	old, err := s.rows(ctx, tx, `WHERE r.id = ?`, string(r.ID))
	if err != nil {
		return err
	}
	if len(old) > 0 {
		if err := s.checkOwn(ctx, old[0]); err != nil {
			return err
		}
		if old[0].Status != "" || old[0].Owner.PID != 0 {
			return fmt.Errorf("run %s: %w", r.ID, fs.ErrExist)
		}
		if err := s.drop(ctx, tx, old[0].n); err != nil {
			return err
		}
	}
	if r.definition, err = s.keepDefinition(ctx, tx, definition); err != nil {
		return err
	}
	if err := s.insert(ctx, tx, r, ""); err != nil {
		return err
	}
	if err := errors.Join(s.stay(ctx, tx, r, place), s.recordProject(ctx, tx, r, place)); err != nil {
		return err
	}
	return s.importing(ctx, tx, r)
}

// drop removes a run that has no status, and the text of its loop file if no other run has that. Called serialised.
func (s *Store) drop(ctx context.Context, tx *sql.Tx, run int64) error {
	var definition string
	err := tx.QueryRowContext(ctx, s.q(`SELECT definition FROM runs WHERE n = ? AND status = ''`), run).Scan(
		&definition)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, text := range []string{
		`DELETE FROM runs WHERE n = ?`,
		`DELETE FROM leases WHERE run = ?`,
		`DELETE FROM events WHERE run = ?`,
		`DELETE FROM memory WHERE run = ?`,
		`DELETE FROM texts WHERE run = ?`,
		`DELETE FROM places WHERE run = ?`,
		`DELETE FROM commands WHERE run = ?`,
		`DELETE FROM placements WHERE run = ?`,
	} {
		if _, err := tx.ExecContext(ctx, s.q(text), run); err != nil {
			return err
		}
	}
	return s.dropDefinition(ctx, tx, definition)
}

// An importer collects the large texts of a memory.
type importer struct{ rows []textRow }

func (i *importer) Put(name, text string) error {
	i.rows = append(i.rows, textRow{0, name, text})
	return nil
}

func (i *importer) Get(string) ([]byte, error) { return nil, errors.ErrUnsupported }
