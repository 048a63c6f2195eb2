package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"loops/persistence"
	"loops/persistence/snapshot"
)

// Around implements [persistence.Rewinder].
func (s *Store) Around(ctx context.Context, id persistence.ID, seq uint64) (before, after persistence.Moment, err error) {
	s.flush(id)
	if err := s.d.there(); err != nil {
		return before, after, fmt.Errorf("%w: %w", persistence.ErrNotFound, err)
	}
	r, err := s.find(ctx, s.read, id, "")
	if err != nil {
		return before, after, s.d.explain(err)
	}
	lines, err := s.memoryUpTo(ctx, r, seq)
	if err != nil {
		return before, after, s.d.explain(err)
	}
	n := len(lines)
	for n > 0 && lines[n-1].seq >= seq {
		n--
	}
	if before, err = s.moment(ctx, r, lines[:n]); err == nil && n < len(lines) {
		after, err = s.moment(ctx, r, lines)
	}
	return before, after, err
}

// A memoryLine is a whole memory or a patch, as it is recorded.
type memoryLine struct {
	seq  uint64
	text string
}

// memoryUpTo reads a whole memory from before an event, if there is one, and the patches behind it, up to the first with
// the event or behind it.
func (s *Store) memoryUpTo(ctx context.Context, r *row, seq uint64) (lines []memoryLine, err error) {
	var from int64
	err = s.read.QueryRowContext(ctx, s.q(`SELECT coalesce(
		(SELECT max(seq) FROM memory WHERE run = ? AND seq < ? AND whole IS NOT NULL),
		(SELECT min(seq) FROM memory WHERE run = ? AND whole IS NOT NULL), 0)`), r.n, int64(seq), r.n).Scan(&from)
	if err != nil {
		return nil, err
	}
	rs, err := s.read.QueryContext(ctx, s.q(`SELECT seq, CASE WHEN seq = ? THEN whole ELSE patch END FROM memory WHERE run = ? AND seq >= ? ORDER BY seq`),
		from, r.n, from)
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	for rs.Next() {
		var at int64
		var text sql.NullString
		if err := rs.Scan(&at, &text); err != nil {
			return nil, err
		}
		lines = append(lines, memoryLine{uint64(at), text.String})
		if uint64(at) >= seq {
			break
		}
	}
	return lines, rs.Err()
}

// moment makes a memory of a whole one and patches; of none it makes none.
func (s *Store) moment(ctx context.Context, r *row, lines []memoryLine) (persistence.Moment, error) {
	if len(lines) == 0 {
		return persistence.Moment{}, nil
	}
	var d snapshot.Decoder
	step := d.Whole
	for _, l := range lines {
		b, err := snapshot.CutSum([]byte(l.text))
		if err == nil {
			err = step(b)
		}
		if err != nil {
			return persistence.Moment{}, s.damagedMemory(r, l.seq, err)
		}
		step = d.Patch
	}
	last := lines[len(lines)-1].seq
	texts := &reader{ctx: ctx, s: s, run: r.n}
	m, err := d.Snapshot(texts)
	switch {
	case texts.err != nil:
		return persistence.Moment{}, s.d.explain(texts.err)
	case err != nil:
		return persistence.Moment{}, s.damagedMemory(r, last, err)
	}
	return persistence.Moment{Seq: last, Memory: m}, nil
}

func (s *Store) damagedMemory(r *row, seq uint64, err error) error {
	return &persistence.DamageError{File: fmt.Sprintf("%s: memory of run %s at event %d", s.name, r.ID, seq), Offset: -1, What: err.Error()}
}

var _ persistence.Rewinder = (*Store)(nil)
