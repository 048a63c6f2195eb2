package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"loops/persistence"
)

// forgotten is the silence in milliseconds after which a worker leaves the list. Others took its runs over long before.
const forgotten = `600000`

// Beat implements [persistence.Placer].
func (s *Store) Beat(ctx context.Context, w persistence.WorkerState, lease time.Duration) error {
	w.LastError = shortened(w.LastError)
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.lease/3)
	defer cancel()
	_, err = s.beat.ExecContext(ctx, s.q(`INSERT INTO workers (id, body, heard_at, lease) VALUES (?, ?, {now}, ?)
		ON CONFLICT (id) DO UPDATE SET body = excluded.body, heard_at = excluded.heard_at,
			lease = excluded.lease`), w.ID, string(body), lease.Milliseconds())
	return s.explained(err)
}

// Away implements [persistence.Placer].
func (s *Store) Away(ctx context.Context, worker string) error {
	_, err := s.beat.ExecContext(ctx, s.q(`DELETE FROM workers WHERE id = ? OR heard_at < {now} - `+forgotten+``),
		worker)
	return s.explained(err)
}

// Drain implements [persistence.Placer].
func (s *Store) Drain(ctx context.Context, worker, by string) (found bool, err error) {
	res, err := s.beat.ExecContext(ctx,
		s.q(`UPDATE workers SET drain = ? WHERE id = ? AND heard_at >= {now} - `+forgotten+``),
		cmp.Or(shortened(by), "a user"), worker)
	if err != nil {
		return false, s.explained(err)
	}
	n, err := res.RowsAffected()
	return n > 0, s.explained(err)
}

// Drained implements [persistence.Placer].
func (s *Store) Drained(ctx context.Context, worker string) (by string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.lease/3)
	defer cancel()
	err = s.beat.QueryRowContext(ctx, s.q(`SELECT drain FROM workers WHERE id = ?`), worker).Scan(&by)
	if errors.Is(err, sql.ErrNoRows) { // it did not report for long, and is to report again
		return "", nil
	}
	return by, s.explained(err)
}

// Workers implements [persistence.Placer].
func (s *Store) Workers(ctx context.Context) ([]persistence.WorkerState, error) {
	rs, err := s.read.QueryContext(ctx,
		s.q(`SELECT body, {now} - heard_at, lease, drain FROM workers WHERE heard_at >= {now} - `+forgotten+
			` ORDER BY id`))
	all, err := collect(rs, err, func(scan func(...any) error) (w persistence.WorkerState, err error) {
		var body string
		var silent, lease int64
		if err := scan(&body, &silent, &lease, &w.Draining); err != nil {
			return w, err
		}
		err = json.Unmarshal([]byte(body), &w)
		w.Silent, w.Lease = time.Duration(silent)*time.Millisecond, time.Duration(lease)*time.Millisecond
		return w, err
	})
	if err == nil && slices.ContainsFunc(all, func(w persistence.WorkerState) bool {
		return w.Gone() && len(w.Runs) > 0
	}) {
		err = s.dropTakenOver(ctx, all)
	}
	return all, s.explained(err)
}

// dropTakenOver removes from workers that are gone the runs that are over, and those that another process or
// worker has.
func (s *Store) dropTakenOver(ctx context.Context, all []persistence.WorkerState) error {
	rs, err := s.read.QueryContext(ctx,
		s.q(`SELECT r.id FROM placements p JOIN runs r ON r.n = p.run LEFT JOIN leases l ON l.run = r.n
		WHERE p.open = 1 AND coalesce(l.until, 0) <= {now}`))
	ids, err := collect(rs, err, func(scan func(...any) error) (id string, err error) { return id, scan(&id) })
	if err != nil {
		return err
	}
	left := make(map[persistence.ID]bool, len(ids))
	for _, id := range ids {
		left[persistence.ID(id)] = true
	}
	for _, w := range all {
		if !w.Gone() {
			for _, id := range w.Runs {
				left[id] = false
			}
		}
	}
	for i, w := range all {
		if w.Gone() {
			all[i].Runs = slices.DeleteFunc(w.Runs, func(id persistence.ID) bool { return !left[id] })
		}
	}
	return nil
}

// addPlacements adds the placements of the runs that no process owns and that workers may continue. at are
// their indexes in runs, by number.
func (s *Store) addPlacements(ctx context.Context, runs []persistence.Run, at map[int64]int) error {
	if !s.d.remote() {
		return nil
	}
	var asked []any
	for n, i := range at {
		if r := runs[i]; (!r.Held || r.Lapsed) && (r.Resumable || r.Due()) {
			asked = append(asked, n)
		}
	}
	for some := range slices.Chunk(asked, mostPlaces) {
		rs, err := s.read.QueryContext(ctx, s.q(`SELECT p.run, p.queue, p.labels, p.open, p.note,
			p.at > {now} AND NOT EXISTS (SELECT 1 FROM commands c WHERE c.run = p.run AND c.n > p.heard)
				FROM placements p WHERE p.run IN (`+marks(len(some))+`)`), some...)
		_, err = collect(rs, err, func(scan func(...any) error) (none struct{}, err error) {
			var run, open int64
			var labels string
			p := &persistence.Placement{}
			if err := scan(&run, &p.Queue, &labels, &open, &p.Note, &p.Waits); err != nil {
				return none, err
			}
			r := &runs[at[run]]
			p.Open, p.Waits = open != 0, p.Waits && r.Status == persistence.Awaiting
			r.Placement = p
			return none, json.Unmarshal([]byte(labels), &p.Labels)
		})
		if err != nil {
			return err
		}
	}
	heardOf := sync.OnceValues(func() ([]persistence.WorkerState, error) { return s.Workers(ctx) })
	for _, r := range runs {
		if p := r.Placement; p != nil && p.Open {
			workers, err := heardOf()
			if err != nil {
				return err
			}
			p.Heard = slices.ContainsFunc(workers, func(w persistence.WorkerState) bool {
				return w.Takes(p.Queue, p.Labels)
			})
		}
	}
	return nil
}

// mostPlaces is how many placements are read at once.
const mostPlaces = 1000
