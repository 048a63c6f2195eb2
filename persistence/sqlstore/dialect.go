package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"loops/persistence"
)

// A dialect is what SQLite and PostgreSQL do not do alike.
type dialect interface {
	// words are what is in statements for the words in braces, in pairs.
	words() []string
	// numbered means that parameters are $1, $2 …, not ?.
	numbered() bool
	// tables counts in one row the table schema_migrations, and all tables.
	tables() string
	// change does f in a transaction that may write. With SQLite other writers wait until it ends. One that is durable,
	// or calls serialise on PostgreSQL, cannot be lost when it was done.
	change(ctx context.Context, durable bool, f func(tx *sql.Tx) error) error
	// erasing does f, and what that deletes or overwrites is not left in free room of the database, as far as
	// that can be had.
	erasing(ctx context.Context, f func() error) error
	// serialise makes all other callers wait until the end of the transaction.
	serialise(ctx context.Context, tx *sql.Tx) error
	// lockRow is what is after a SELECT whose row must not be changed by others before the end of the transaction.
	lockRow() string
	// save does a save, or nothing where the run is not as the save expects; done reports which.
	save(ctx context.Context, b *batch) (done bool, err error)
	// addEvents adds events without looking whether the run is ours.
	addEvents(ctx context.Context, tx *sql.Tx, run int64, events []eventRow) error
	// there is an error if what is saved goes nowhere, because the database was removed.
	there() error
	// passing says that an error may pass and leaves open whether something was done.
	passing(err error) bool
	// unreachable says that an error is about the way to the database, and may pass.
	unreachable(err error) bool
	// explain adds what a person, or errors.Is, can make something of.
	explain(err error) error
	// remote means that owners of runs may be on machines that lose sight of the database.
	remote() bool
	close() error
}

// q puts a statement into the words of the dialect.
func (s *Store) q(text string) string {
	if t, ok := s.cache.Load(text); ok {
		return t.(string)
	}
	t := translate(s.d, text)
	s.cache.Store(text, t)
	return t
}

func translate(d dialect, text string) string {
	t := strings.NewReplacer(d.words()...).Replace(text)
	if d.numbered() {
		var b strings.Builder
		n := 0
		for _, c := range t {
			if c != '?' {
				b.WriteRune(c)
				continue
			}
			n++
			b.WriteString("$" + strconv.Itoa(n))
		}
		t = b.String()
	}
	return t
}

// A batch is one save of a run. Its rows are those behind from; what is before was saved, and is kept as long as the
// database could lose it.
type batch struct {
	run, epoch int64
	from, to   uint64 // number of the last event before and after it
	status     string
	about      string
	whole      uint64 // where the last whole memory is
	durable    bool
	events     []eventRow
	memory     []memoryRow
	texts      []textRow
}

type eventRow struct {
	seq  uint64
	body string
}

type memoryRow struct {
	seq          uint64
	patch, whole *string
}

// A textRow is saved with the event of that number, or before.
type textRow struct {
	seq        uint64
	name, body string
}

func (r eventRow) at() uint64  { return r.seq }
func (r memoryRow) at() uint64 { return r.seq }
func (r textRow) at() uint64   { return r.seq }

// behind returns the rows that stand after an event.
func behind[T interface{ at() uint64 }](rows []T, seq uint64) []T {
	n := len(rows)
	for n > 0 && rows[n-1].at() > seq {
		n--
	}
	return rows[n:]
}

// The parts of a save, of which the first guards the others.
const (
	saveRun = `UPDATE runs SET status = ?, seq = ?, whole = ?, about = ?, updated_at = {now}
		WHERE n = ? AND epoch = ? AND seq = ?`
	saveEvent  = `INSERT INTO events (run, seq, body) VALUES (?, ?, ?)`
	saveMemory = `INSERT INTO memory (run, seq, patch, whole) VALUES (?, ?, ?, ?)`
	saveText   = `INSERT INTO texts (run, name, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
)

// Passing reports whether an error that the store returned may be gone the next time: the database was busy or
// could not be reached. What was tried may have been done.
func (s *Store) Passing(err error) bool {
	return errors.Is(err, persistence.ErrBusy) || s.d.unreachable(err)
}
