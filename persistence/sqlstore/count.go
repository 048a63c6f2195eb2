package sqlstore

import (
	"context"
	"strings"
	"time"

	"loops/persistence"
)

// Count implements [persistence.Store]. What ended a run is cut out of its record, where the text cannot be
// anything else: in JSON the quotes inside a text have a backslash before them.
func (s *Store) Count(ctx context.Context, q persistence.Query, within time.Duration) ([]persistence.Count, error) {
	if !legible(q.Loop) {
		return nil, nil
	}
	const ended, longest = `"ended": "`, 24
	of := `CASE WHEN r.status <> ? AND {place}(r.about, ?) > 0 THEN substr(r.about, {place}(r.about, ?) + ?, ?)
		ELSE '' END`
	args := []any{
		within.Microseconds(), string(persistence.Completed), ended, ended, len(ended), longest,
		string(persistence.Completed), `"rate_limited": true`, mergeConflict, mergeRefused,
	}
	where := `WHERE r.status <> '' AND r.archived <> 0`
	if q.Loop != "" {
		where, args = where+` AND r.loop = ?`, append(args, q.Loop)
	}
	ours, own, err := s.ours(ctx, `r.`)
	if err != nil {
		return nil, s.d.explain(err)
	}
	where, args = where+ours, append(args, own...)
	narrow, with := narrowed(q.Filter)
	rows, err := s.read.QueryContext(ctx, s.q(`SELECT r.status, r.started_at / ? AS step, `+of+` AS ended,
		CASE WHEN r.status <> ? AND {place}(r.about, ?) > 0 THEN 1 ELSE 0 END AS limited,
		CASE WHEN {place}(r.about, ?) > 0 OR {place}(r.about, ?) > 0 THEN 1 ELSE 0 END AS unmerged, count(*)
		FROM runs r `+where+narrow+` GROUP BY r.status, step, ended, limited, unmerged`), append(args, with...)...)
	all, err := collect(rows, err, func(scan func(...any) error) (c persistence.Count, err error) {
		var step, limited, unmerged int64
		err = scan(&c.Status, &step, &c.Ended, &limited, &unmerged, &c.Runs)
		c.Ended, _, _ = strings.Cut(c.Ended, `"`)
		c.Began, c.Limited, c.Unmerged = time.UnixMicro(step*within.Microseconds()).UTC(), limited != 0, unmerged != 0
		return c, err
	})
	return all, s.d.explain(err)
}
