package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// remembered reads the memory of a run: the last whole one and the patches after it. If that cannot be read, an older
// whole one may be there, with all patches since.
func (s *Store) remembered(ctx context.Context, r *row) (*fsm.Snapshot, error) {
	m, err := s.memoryFrom(ctx, r, r.whole)
	var damage *persistence.DamageError
	if !errors.As(err, &damage) {
		return m, err
	}
	var older uint64
	if e := s.read.QueryRowContext(ctx,
		s.q(`SELECT coalesce(max(seq), 0) FROM memory WHERE run = ? AND seq < ? AND whole IS NOT NULL`),
		r.n, int64(r.whole)).Scan(&older); e != nil || older == 0 {
		return nil, err
	}
	if m, e := s.memoryFrom(ctx, r, older); e == nil {
		return m, nil
	}
	return nil, err
}

// A memoryLine is a whole memory or a patch, as it is recorded.
type memoryLine struct {
	seq   uint64
	whole bool
	text  string
}

// memoryLines are the whole memory at an event and the patches after it. A line without a patch is a whole
// one, too: the first that the worker of a submitted run records has none, and r.whole names it only since
// then.
const memoryLines = `SELECT seq, seq = ? OR patch IS NULL, CASE WHEN seq = ? OR patch IS NULL THEN whole ELSE patch
	END FROM memory
	WHERE run = ? AND seq >= ? ORDER BY seq`

// lines reads the memory of a run from an event on, as it is recorded, until one returns false.
func (s *Store) lines(ctx context.Context, r *row, from uint64, one func(l memoryLine) bool) error {
	at := int64(from)
	rs, err := s.read.QueryContext(ctx, s.q(memoryLines), at, at, r.n, at)
	if err != nil {
		return err
	}
	defer rs.Close()
	for rs.Next() {
		var seq int64
		var l memoryLine
		var text sql.NullString
		if err := rs.Scan(&seq, &l.whole, &text); err != nil {
			return err
		}
		l.seq, l.text = uint64(seq), text.String
		if !one(l) {
			return nil
		}
	}
	return rs.Err()
}

// A memoryReader makes a memory of lines. The first must be a whole one.
type memoryReader struct {
	s    *Store
	r    *row
	d    snapshot.Decoder
	last uint64
	some bool
	err  error // a DamageError
}

// add takes the next line, and reports whether it can take more.
func (m *memoryReader) add(l memoryLine) bool {
	b, err := snapshot.CutSum([]byte(l.text))
	switch {
	case !m.some && !l.whole:
		err = fs.ErrNotExist
		l.seq = m.last
	case err == nil && l.whole:
		err = m.d.Whole(b)
	case err == nil:
		err = m.d.Patch(b)
	}
	m.some, m.last = true, l.seq
	if err != nil {
		m.err = m.s.damagedMemory(m.r, l.seq, err)
	}
	return err == nil
}

// memory returns what the lines make.
func (m *memoryReader) memory(ctx context.Context) (*fsm.Snapshot, error) {
	if m.err != nil {
		return nil, m.err
	}
	texts := &reader{ctx: ctx, s: m.s, run: m.r.n}
	memory, err := m.d.Snapshot(texts)
	switch {
	case texts.err != nil:
		return nil, texts.err
	case err != nil:
		return nil, m.s.damagedMemory(m.r, m.last, err)
	}
	return memory, nil
}

func (s *Store) memoryFrom(ctx context.Context, r *row, from uint64) (*fsm.Snapshot, error) {
	m := memoryReader{s: s, r: r, last: from}
	if err := s.lines(ctx, r, from, m.add); err != nil {
		return nil, err
	}
	return m.memory(ctx)
}

// A reader gets the large texts of a run.
type reader struct {
	ctx context.Context
	s   *Store
	run int64
	err error // of the database, where it could not report whether a text is there
}

func (r *reader) Put(string, string) error { return errors.ErrUnsupported }

func (r *reader) Get(name string) (text []byte, err error) {
	err = r.s.read.QueryRowContext(r.ctx, r.s.q(`SELECT body FROM texts WHERE run = ? AND name = ?`), r.run,
		name).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		r.err = err
	}
	return text, err
}

func (s *Store) damagedMemory(r *row, seq uint64, err error) error {
	return &persistence.DamageError{
		File:   fmt.Sprintf("%s: memory of run %s at event %d", s.name, r.ID, seq),
		Offset: -1, What: err.Error(),
	}
}
