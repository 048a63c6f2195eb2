package sqlstore

import (
	"context"
	"fmt"

	"loops/persistence"
)

// Around implements [persistence.Store].
func (s *Store) Around(ctx context.Context, id persistence.ID, seq uint64) (before, after persistence.Moment,
	err error,
) {
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

// memoryUpTo reads a whole memory from before an event, if there is one, and the patches after it, up to the
// first with the event or after it.
func (s *Store) memoryUpTo(ctx context.Context, r *row, seq uint64) (lines []memoryLine, err error) {
	var from int64
	err = s.read.QueryRowContext(ctx, s.q(`SELECT coalesce(
		(SELECT max(seq) FROM memory WHERE run = ? AND seq < ? AND whole IS NOT NULL),
		(SELECT min(seq) FROM memory WHERE run = ? AND whole IS NOT NULL), 0)`), r.n, int64(seq), r.n).Scan(&from)
	if err != nil {
		return nil, err
	}
	err = s.lines(ctx, r, uint64(from), func(l memoryLine) bool {
		lines = append(lines, l)
		return l.seq < seq
	})
	return lines, err
}

// moment makes a memory of a whole one and patches; of none it makes none.
func (s *Store) moment(ctx context.Context, r *row, lines []memoryLine) (persistence.Moment, error) {
	if len(lines) == 0 {
		return persistence.Moment{}, nil
	}
	m := memoryReader{s: s, r: r}
	for _, l := range lines {
		if !m.add(l) {
			break
		}
	}
	memory, err := m.memory(ctx)
	if err != nil {
		return persistence.Moment{}, s.d.explain(err)
	}
	return persistence.Moment{Seq: m.last, Memory: memory}, nil
}
