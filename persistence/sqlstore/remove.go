package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/disk"
	"loops/persistence"
)

// Remove implements [persistence.Store]. With the records of the run it records which projects have files of
// it. Each removes its own: this one now, another with its next FinishRemovals. The database uses the room
// again for other runs; a file of SQLite does not get shorter by it.
func (s *Store) Remove(ctx context.Context, id persistence.ID) error {
	s.finishing.Do(func() { _, _ = s.FinishRemovals(ctx) })
	removed, ours := false, false
	var hidden string
	err := s.here(ctx, func(place string) error {
		err := s.changeDurably(ctx, func(tx *sql.Tx) (err error) {
			ours, err = s.removeRows(ctx, tx, id, place)
			return err
		})
		if removed = err == nil; removed && ours {
			hidden, err = s.hideFiles(ctx, id, place)
		}
		return err
	})
	if !removed {
		return err
	}
	if err = errors.Join(err, removeHidden(hidden)); err != nil {
		return &persistence.RemainsError{ID: id, Err: err}
	}
	return nil
}

// removeRows removes what is recorded about a run, and records what each project has to do; ours means that this one is
// among them.
func (s *Store) removeRows(ctx context.Context, tx *sql.Tx, id persistence.ID, here string) (ours bool, err error) {
	if err := s.d.serialise(ctx, tx); err != nil {
		return false, err
	}
	r, err := s.find(ctx, tx, id, s.d.lockRow())
	if err != nil {
		return false, err
	}
	if r.Held {
		return false, &persistence.HeldError{ID: id, Owner: r.Owner}
	}
	places, err := s.placesOf(ctx, tx, r.n)
	if err != nil {
		return false, err
	}
	if len(places) == 0 { // an earlier version recorded it
		places = []string{here}
	}
	for _, place := range append(places, retired) {
		if err := s.mustRemove(ctx, tx, r, place); err != nil {
			return false, err
		}
	}
	for _, text := range []string{
		`DELETE FROM runs WHERE n = ?`,
		`DELETE FROM leases WHERE run = ?`,
		`DELETE FROM events WHERE run = ?`,
		`DELETE FROM memory WHERE run = ?`,
		`DELETE FROM texts WHERE run = ?`,
		`DELETE FROM places WHERE run = ?`,
		`DELETE FROM commands WHERE run = ?`,
	} {
		if _, err := tx.ExecContext(ctx, s.q(text), r.n); err != nil {
			return false, err
		}
	}
	return slices.Contains(places, here), s.dropDefinition(ctx, tx, r.definition)
}

// retired takes the place of a project in the row that keeps the id of a removed run from being given again.
const retired = ""

// dropDefinition removes the text of a loop file that no run has any more. Called serialised.
func (s *Store) dropDefinition(ctx context.Context, tx *sql.Tx, hash string) error {
	_, err := tx.ExecContext(ctx,
		s.q(`DELETE FROM definitions WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE definition = ?)`), hash,
		hash)
	return err
}

// hiddenPrefix begins the names of folders beside the working folders that hold what is being removed.
const hiddenPrefix = ".removed-"

// hideFiles removes the logs of a run, and moves its working folder to a hidden one, "" if there is nothing in
// it. Then this project has done what a removal asks of it. Called within here.
func (s *Store) hideFiles(ctx context.Context, id persistence.ID, place string) (hidden string, err error) {
	for _, path := range persistence.LogFiles(s.logs(), id) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if _, err := os.Lstat(s.work(id)); err == nil {
		if hidden, err = disk.MkdirTemp(s.Folder, hiddenPrefix+"*"); err != nil {
			return "", err
		}
		// its disk, or its mode, forbids it
		if err := os.Rename(s.work(id), filepath.Join(hidden, "work")); err != nil {
			if err := disk.RemoveTree(s.work(id)); err != nil {
				return hidden, err
			}
		}
	}
	return hidden, s.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.q(`DELETE FROM removals WHERE id = ? AND place = ?`), string(id), place)
		return err
	})
}

func removeHidden(path string) error {
	if path == "" {
		return nil
	}
	return disk.RemoveTree(path)
}

// FinishRemovals implements [persistence.Store]. It also forgets runs that recorded nothing before their
// process died, and what an import left that did not come to its end.
func (s *Store) FinishRemovals(ctx context.Context) (gone []persistence.ID, err error) {
	if err := s.forgetDead(ctx); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.placeFile()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no run of this database was ever in this project
	}
	var errs []error
	err = s.here(ctx, func(place string) error {
		rs, err := s.read.QueryContext(ctx, s.q(`SELECT id FROM removals WHERE place = ? ORDER BY loop, run_id`), place)
		ids, err := collect(rs, err, scanText)
		for _, id := range ids {
			_, err := s.hideFiles(ctx, persistence.ID(id), place)
			if gone, errs = append(gone, persistence.ID(id)), append(errs, err); err != nil {
				gone = gone[:len(gone)-1]
			}
		}
		return s.explained(err)
	})
	hidden, _ := filepath.Glob(filepath.Join(s.Folder, hiddenPrefix+"*"))
	for _, path := range hidden {
		errs = append(errs, disk.RemoveTree(path))
	}
	return gone, errors.Join(append(errs, err)...)
}

// finishRemoval removes the files that a removed run with this ID left in this project, if there are any:
// another run is about to have it.
func (s *Store) finishRemoval(ctx context.Context, id persistence.ID) error {
	if _, err := os.Lstat(s.placeFile()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.here(ctx, func(place string) error {
		var n int
		err := s.read.QueryRowContext(ctx, s.q(`SELECT count(*) FROM removals WHERE id = ? AND place = ?`),
			string(id), place).Scan(&n)
		if err != nil || n == 0 {
			return s.explained(err)
		}
		hidden, err := s.hideFiles(ctx, id, place)
		return errors.Join(err, removeHidden(hidden))
	})
}

// forgetDead forgets runs that recorded nothing and that no process owns any more.
func (s *Store) forgetDead(ctx context.Context) error {
	const begun = `WHERE r.status = ''`
	dead := func(rows []*row) (d []*row) {
		for _, r := range rows {
			if !r.Held && !r.Unsure {
				d = append(d, r)
			}
		}
		return d
	}
	rows, err := s.rows(ctx, s.read, begun)
	if err != nil || len(dead(rows)) == 0 {
		return s.explained(err)
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		rows, err := s.rows(ctx, tx, begun)
		if err != nil {
			return err
		}
		for _, r := range dead(rows) {
			if err := s.forgetRow(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetRow forgets a run that recorded nothing before its process died. The files of a fork, which were
// copied, are removed by the project that has them: this one now, another with its next FinishRemovals. Called
// serialised.
func (s *Store) forgetRow(ctx context.Context, tx *sql.Tx, r *row) error {
	places, err := s.placesOf(ctx, tx, r.n)
	if err != nil {
		return err
	}
	word, _ := disk.Read(s.placeFile())
	for _, place := range places {
		if place == string(word) || r.Origin == nil {
			continue
		}
		if err := s.mustRemove(ctx, tx, r, place); err != nil {
			return err
		}
	}
	if err := s.drop(ctx, tx, r.n); err != nil {
		return err
	}
	switch {
	// its owner may be alive, or it is another project's
	case !s.local(r.Owner) || !slices.Contains(places, string(word)):
	case r.Origin != nil:
		// all that is in it was copied: a fork records its beginning before it does anything
		_ = os.RemoveAll(s.work(r.ID))
	default:
		_ = os.Remove(s.work(r.ID)) // only if it is empty
	}
	return nil
}

// placesOf returns the projects that have files of a run.
func (s *Store) placesOf(ctx context.Context, tx *sql.Tx, run int64) ([]string, error) {
	rs, err := tx.QueryContext(ctx, s.q(`SELECT place FROM places WHERE run = ?`), run)
	return collect(rs, err, scanText)
}

// mustRemove records that a project has to remove its files of a run.
func (s *Store) mustRemove(ctx context.Context, tx *sql.Tx, r *row, place string) error {
	_, err := tx.ExecContext(ctx,
		s.q(`INSERT INTO removals (id, loop, run_id, place) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`),
		string(r.ID), r.Loop, r.RunID, place)
	return err
}

// fewSizes is how many runs are measured one by one: for more of them, the length of each text is read once.
const fewSizes = 100

// Sizes implements [persistence.Store]. It counts texts, not the room that the database needs around them.
func (s *Store) Sizes(ctx context.Context, ids []persistence.ID, _ []int64) ([]int64, error) {
	if len(ids) <= fewSizes {
		return persistence.SizesOf(ctx, ids, s.size)
	}
	rows, err := s.read.QueryContext(ctx, s.q(`SELECT r.id, t.n FROM runs r JOIN (SELECT run, sum(n) AS n FROM (
		SELECT run, octet_length(body) AS n FROM events
		UNION ALL SELECT run, coalesce(octet_length(patch), 0) + coalesce(octet_length(whole), 0) FROM memory
		UNION ALL SELECT run, octet_length(body) FROM texts
		UNION ALL SELECT run, octet_length(body) FROM commands) AS parts GROUP BY run) AS t ON t.run = r.n`))
	type sized struct {
		id persistence.ID
		n  int64
	}
	all, err := collect(rows, err, func(scan func(...any) error) (r sized, err error) {
		err = scan(&r.id, &r.n)
		return r, err
	})
	if err != nil {
		return nil, s.explained(err)
	}
	recorded, work := make(map[persistence.ID]int64, len(all)), map[string]bool{}
	for _, r := range all {
		recorded[r.id] = r.n
	}
	_ = disk.EachName(s.Folder, func(name string) { work[name] = true })
	sizes := make([]int64, len(ids))
	for i, id := range ids {
		first, _, _ := strings.Cut(string(id), "/")
		if sizes[i] = recorded[id]; sizes[i] == 0 || !work[first] {
			continue
		}
		files, err := disk.TreeSize(s.work(id))
		if err != nil {
			return nil, err
		}
		sizes[i] += files
	}
	persistence.CountReads(ctx, len(ids))
	return sizes, nil
}

// size returns how many bytes a run takes.
func (s *Store) size(ctx context.Context, id persistence.ID) (int64, error) {
	r, err := s.find(ctx, s.read, id, "")
	if err != nil {
		return 0, s.explained(err)
	}
	var recorded int64
	err = s.read.QueryRowContext(ctx, s.q(`SELECT
		(SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE run = ?) +
		(SELECT coalesce(sum(coalesce(octet_length(patch), 0) + coalesce(octet_length(whole), 0)), 0) FROM memory
			WHERE run = ?) +
		(SELECT coalesce(sum(octet_length(body)), 0) FROM texts WHERE run = ?) +
		(SELECT coalesce(sum(octet_length(body)), 0) FROM commands WHERE run = ?)`), r.n, r.n, r.n, r.n).Scan(&recorded)
	if err != nil {
		return 0, s.explained(err)
	}
	files, err := disk.TreeSize(s.work(id))
	return recorded + files, err
}
