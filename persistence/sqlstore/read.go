package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// newestOfEach is the newest run of each loop. It goes from one loop to the next by the index runs_of_loop: to
// number the runs of each loop takes 0.2 s with a hundred thousand.
func newestOfEach(ours string) string {
	return `WITH RECURSIVE loops (loop) AS (
		SELECT min(loop) FROM runs WHERE status <> ''` + ours + `
		UNION ALL SELECT (SELECT min(loop) FROM runs WHERE status <> '' AND loop > loops.loop` + ours + `) FROM loops
			WHERE loop IS NOT NULL)
	SELECT (SELECT n FROM runs WHERE loop = loops.loop AND status <> ''` + ours + ` ORDER BY run_id DESC,
		started_at DESC, id DESC LIMIT 1)
		FROM loops WHERE loop IS NOT NULL`
}

// Each implements [persistence.Store].
func (s *Store) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	if q.ID != "" || q.Last || q.LiveToo || q.Open || q.Limit > 0 || q.Skip > 0 {
		return persistence.EachOf(func() ([]persistence.Run, error) { return s.Runs(ctx, q) })
	}
	return func(yield func(persistence.Run, error) bool) {
		q.Limit = manyChosen
		for last := (*persistence.Run)(nil); ; {
			runs, err := s.list(ctx, q, last)
			if err != nil {
				yield(persistence.Run{}, err)
				return
			}
			for _, r := range runs {
				if !yield(r, nil) {
					return
				}
			}
			if len(runs) < q.Limit {
				return
			}
			last = &runs[len(runs)-1]
		}
	}
}

// Runs implements [persistence.Store].
func (s *Store) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	return s.list(ctx, q, nil)
}

// older selects the rows after one in the order of listings.
const older = ` AND (r.run_id, r.started_at, r.id) < (?, ?, ?)`

// list is Runs of those that are listed after another one; nil = all.
func (s *Store) list(ctx context.Context, q persistence.Query, after *persistence.Run) ([]persistence.Run, error) {
	if !legible(q.Loop) || !legible(string(q.ID)) {
		return nil, nil
	}
	where, args := `WHERE r.status <> ''`, []any{}
	if !q.Anywhere {
		ours, own, err := s.ours(ctx, `r.`)
		if err != nil {
			return nil, s.d.explain(err)
		}
		where, args = where+ours, own
	}
	if q.ID != "" {
		where, args = where+` AND r.id = ?`, append(args, string(q.ID))
	}
	if q.Loop != "" {
		where, args = where+` AND r.loop = ?`, append(args, q.Loop)
	}
	if q.Live {
		where += ` AND r.archived = 0`
	}
	if q.Last {
		ours, own, err := s.ours(ctx, `runs.`)
		if err != nil {
			return nil, s.d.explain(err)
		}
		where, args = where+` AND r.n IN (`+newestOfEach(ours)+`)`, slices.Concat(args, own, own, own)
	}
	if after != nil {
		where, args = where+older, append(slices.Clip(args), after.RunID, after.StartedAt.UnixMicro(), string(after.ID))
	}
	live := where + ` AND r.archived = 0`
	const newestFirst = ` ORDER BY r.run_id DESC, r.started_at DESC, r.id DESC`
	where += newestFirst
	s.owned.Range(func(_, j any) bool {
		j.(*journal).flush()
		return true
	})
	var rows, more []*row
	var err error
	if q.Filters() {
		narrow, with := narrowed(q.Filter)
		rows, err = s.choose(ctx, q, strings.TrimSuffix(where, newestFirst)+narrow, append(slices.Clip(args), with...))
	} else if q.Limit > 0 || q.Skip > 0 {
		most := int64(math.MaxInt64)
		if q.Limit > 0 {
			most = int64(q.Limit)
		}
		rows, err = s.rows(ctx, s.read, where+` LIMIT ? OFFSET ?`, append(slices.Clip(args), most, q.Skip)...)
	} else {
		rows, err = s.rows(ctx, s.read, where, args...)
	}
	if err == nil && q.LiveToo && q.Limit > 0 && len(rows) == q.Limit {
		more, err = s.rows(ctx, s.read, live+newestFirst, args...)
		more = slices.DeleteFunc(more, func(r *row) bool { return !q.Matches(r.Run) })
	}
	if err != nil {
		return nil, s.d.explain(err)
	}
	all := make(map[int64]int, len(rows)+len(more)) // the place of each in runs
	runs, seen := make([]persistence.Run, 0, len(rows)+len(more)), make(map[int64]bool, len(rows))
	for _, r := range append(rows, more...) {
		if seen[r.n] {
			continue
		}
		seen[r.n] = true
		if q.Open && !r.Open() {
			continue
		}
		if q.Anywhere || len(s.Projects) == 0 {
			r.Project = r.project
		}
		if q.Reads(r.Run) {
			r.Reading = &reading{s, r}
		}
		runs = append(runs, r.Run)
		all[r.n] = len(runs) - 1
	}
	return runs, s.explained(s.addPlacements(ctx, runs, all))
}

// A reading is a row that was listed. It implements [persistence.Reading].
type reading struct {
	s *Store
	r *row
}

// Memory implements [persistence.Reading]: what the row names may be gone by now, because the run continued or
// was removed; then the row is read again.
func (r *reading) Memory(ctx context.Context) (*fsm.Snapshot, error) {
	m, err := r.s.remembered(ctx, r.r)
	if err != nil {
		return r.s.Snapshot(ctx, r.r.ID)
	}
	return m, nil
}

// Definition implements [persistence.Reading].
func (r *reading) Definition(ctx context.Context) ([]byte, error) { return r.s.definition(ctx, r.r) }

// Events implements [persistence.Reading].
func (r *reading) Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	return r.s.Events(ctx, r.r.ID, after)
}

func (s *Store) rows(ctx context.Context, q queryer, where string, args ...any) ([]*row, error) {
	rs, err := q.QueryContext(ctx, s.q(`SELECT `+columns+fromRuns+where), args...)
	return collect(rs, err, func(scan func(...any) error) (*row, error) { return s.scan(scan) })
}

// collect reads all rows of an answer.
func collect[T any](rs *sql.Rows, err error, one func(scan func(...any) error) (T, error)) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	for rs.Next() {
		v, err := one(rs.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rs.Err()
}

func scanText(scan func(...any) error) (text string, err error) {
	err = scan(&text)
	return text, err
}

// flush saves what waits in a journal of this process.
func (s *Store) flush(id persistence.ID) {
	if j, ok := s.owned.Load(id); ok {
		j.(*journal).flush()
	}
}

// Snapshot implements [persistence.Store].
func (s *Store) Snapshot(ctx context.Context, id persistence.ID) (*fsm.Snapshot, error) {
	s.flush(id)
	if err := s.d.there(); err != nil {
		return nil, fmt.Errorf("%w: %w", persistence.ErrNotFound, err)
	}
	r, err := s.find(ctx, s.read, id, "")
	if err != nil {
		return nil, s.d.explain(err)
	}
	m, err := s.remembered(ctx, r)
	return m, s.explained(err)
}

// page is how many events are read at once, so that a slow reader does not keep a transaction open.
const page = 500

// Events implements [persistence.Store].
func (s *Store) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		s.flush(id)
		r, err := s.find(ctx, s.read, id, "")
		if err != nil {
			yield(fsm.Event{}, s.d.explain(err))
			return
		}
		for {
			rs, err := s.read.QueryContext(ctx,
				s.q(`SELECT seq, body FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`), r.n, int64(after),
				page)
			rows, err := collect(rs, err, func(scan func(...any) error) (eventRow, error) {
				var e eventRow
				var seq int64
				err := scan(&seq, &e.body)
				e.seq = uint64(seq)
				return e, err
			})
			if err != nil {
				yield(fsm.Event{}, s.d.explain(err))
				return
			}
			for _, row := range rows {
				if ctx.Err() != nil {
					yield(fsm.Event{}, context.Cause(ctx))
					return
				}
				if row.seq != after+1 && !yield(fsm.Event{}, s.damagedEvent(id, after+1, "it is missing")) {
					return
				}
				after = row.seq
				var e fsm.Event
				b, err := snapshot.CutSum([]byte(row.body))
				if err == nil {
					e, err = fsm.ParseEvent(b)
				}
				if err != nil {
					err = s.damagedEvent(id, row.seq, err.Error())
				}
				if !yield(e, err) {
					return
				}
			}
			if len(rows) < page {
				return
			}
		}
	}
}

// tailPage is how many events are read at once from the end: mostly these are enough.
const tailPage = 64

// Track implements [persistence.Store].
func (s *Store) Track(r persistence.Run, after uint64) persistence.Track {
	return persistence.TrackEvents(s, r, after)
}

// Tail implements [persistence.Store].
func (s *Store) Tail(ctx context.Context, id persistence.ID) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		s.flush(id)
		r, err := s.find(ctx, s.read, id, "")
		if err != nil {
			yield(fsm.Event{}, s.d.explain(err))
			return
		}
		for before, limit := int64(math.MaxInt64), tailPage; ; limit = page {
			rs, err := s.read.QueryContext(ctx,
				s.q(`SELECT seq, body FROM events WHERE run = ? AND seq < ? ORDER BY seq DESC LIMIT ?`), r.n, before,
				limit)
			rows, err := collect(rs, err, func(scan func(...any) error) (e eventRow, err error) {
				err = scan(&before, &e.body)
				return e, err
			})
			if err != nil {
				yield(fsm.Event{}, s.d.explain(err))
				return
			}
			for _, row := range rows {
				b, err := snapshot.CutSum([]byte(row.body))
				if err != nil {
					continue
				}
				if e, err := fsm.ParseEvent(b); err == nil && !yield(e, nil) {
					return
				}
			}
			if len(rows) < limit {
				return
			}
		}
	}
}

func (s *Store) damagedEvent(id persistence.ID, seq uint64, what string) error {
	return &persistence.DamageError{
		File: fmt.Sprintf("%s: event %d of run %s", s.name, seq, id), Offset: -1,
		What: what,
	}
}

// Definition returns the text of the loop file that a run was begun, or continued, with last; nil where it is not
// recorded.
func (s *Store) Definition(ctx context.Context, id persistence.ID) ([]byte, error) {
	r, err := s.find(ctx, s.read, id, "")
	if err != nil {
		return nil, s.explained(err)
	}
	return s.definition(ctx, r)
}

func (s *Store) definition(ctx context.Context, r *row) (text []byte, err error) {
	if r.definition == "" {
		return nil, nil
	}
	err = s.read.QueryRowContext(ctx, s.q(`SELECT body FROM definitions WHERE hash = ?`), r.definition).Scan(&text)
	return text, s.explained(err)
}
