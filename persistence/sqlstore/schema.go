package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// migrations bring a database from one version to the next, oldest first. They only go forward, and one that was
// released is never changed. Words in braces are those of the dialect.
//
// Times are milliseconds since the epoch by the clock of the database; started_at is microseconds, and the machine's.
// status is ” until something was recorded. There is a lease for every run that has an owner, dead or alive; it is a
// table of its own so that renewing it never waits for a save.
var migrations = []string{
	`CREATE TABLE runs (
		n {identity},
		id {text} NOT NULL UNIQUE,
		loop {text} NOT NULL,
		run_id {text} NOT NULL,
		started_at {bigint} NOT NULL,
		updated_at {bigint} NOT NULL,
		status {text} NOT NULL,
		archived {bigint} NOT NULL,
		seq {bigint} NOT NULL,
		whole {bigint} NOT NULL,
		epoch {bigint} NOT NULL,
		definition {text} NOT NULL,
		about {text} NOT NULL
	);
	CREATE INDEX runs_newest ON runs (run_id, started_at, id);
	CREATE INDEX runs_of_loop ON runs (loop, run_id, started_at, id);
	CREATE INDEX runs_live ON runs (run_id, started_at, id) WHERE archived = 0;
	CREATE TABLE leases (
		run {bigint} PRIMARY KEY,
		epoch {bigint} NOT NULL,
		until {bigint} NOT NULL,
		owner {text} NOT NULL,
		scope {text} NOT NULL,
		singleton {bigint} NOT NULL,
		since {bigint} NOT NULL
	);
	CREATE TABLE events (
		run {bigint} NOT NULL,
		seq {bigint} NOT NULL,
		body {text} NOT NULL,
		PRIMARY KEY (run, seq)
	) {clustered};
	CREATE TABLE memory (
		run {bigint} NOT NULL,
		seq {bigint} NOT NULL,
		patch {text},
		whole {text},
		PRIMARY KEY (run, seq)
	) {clustered};
	CREATE TABLE texts (
		run {bigint} NOT NULL,
		name {text} NOT NULL,
		body {bytes} NOT NULL,
		PRIMARY KEY (run, name)
	);
	CREATE TABLE definitions (
		hash {text} PRIMARY KEY,
		body {bytes} NOT NULL
	)`,
	// The projects that have files of a run, each by the word in its folder, and those that have to remove them still.
	`CREATE TABLE places (
		run {bigint} NOT NULL,
		place {text} NOT NULL,
		PRIMARY KEY (run, place)
	) {clustered};
	CREATE TABLE removals (
		id {text} NOT NULL,
		loop {text} NOT NULL,
		run_id {text} NOT NULL,
		place {text} NOT NULL,
		PRIMARY KEY (id, place)
	) {clustered};
	CREATE INDEX removals_of_place ON removals (place);
	CREATE INDEX removals_of_loop ON removals (loop, run_id)`,
	// What was asked of runs. The segment that a lease belongs to is in the record of the run only when its
	// owner saved.
	`CREATE TABLE commands (
		run {bigint} NOT NULL,
		n {bigint} NOT NULL,
		body {text} NOT NULL,
		PRIMARY KEY (run, n)
	) {clustered};
	ALTER TABLE leases ADD COLUMN segment {bigint} NOT NULL DEFAULT 0`,
	// Runs that were submitted for workers, and what workers say of themselves. at is the earliest time to
	// begin or to continue (0 = now), heard the last command that a run had when it was taken.
	`CREATE TABLE placements (
		run {bigint} PRIMARY KEY,
		queue {text} NOT NULL,
		key {text} NOT NULL,
		priority {bigint} NOT NULL,
		at {bigint} NOT NULL,
		labels {text} NOT NULL,
		files {text} NOT NULL,
		hash {text} NOT NULL,
		request {text} NOT NULL,
		submitted_at {bigint} NOT NULL,
		open {bigint} NOT NULL,
		tries {bigint} NOT NULL,
		heard {bigint} NOT NULL DEFAULT 0,
		note {text} NOT NULL
	);
	CREATE INDEX placements_open ON placements (queue, key, priority, submitted_at, run) WHERE open = 1;
	CREATE TABLE workers (
		id {text} PRIMARY KEY,
		body {text} NOT NULL,
		heard_at {bigint} NOT NULL,
		lease {bigint} NOT NULL
	)`,
	// What projects do once on their own account, such as the times of schedules that were fired. added is by
	// the clock of who added it.
	`CREATE TABLE ledger (
		project {text} NOT NULL,
		list {text} NOT NULL,
		entry {text} NOT NULL,
		rev {bigint} NOT NULL,
		open {bigint} NOT NULL,
		added {bigint} NOT NULL,
		body {bytes} NOT NULL,
		PRIMARY KEY (project, list, entry)
	) {clustered}`,
	// drain is who asked a worker to end.
	`ALTER TABLE workers ADD COLUMN drain {text} NOT NULL DEFAULT ''`,
	// project is that of the run, '' in runs of earlier versions; projects are those that ever recorded runs
	// from a folder, by the word in it.
	`ALTER TABLE runs ADD COLUMN project {text} NOT NULL DEFAULT '';
	CREATE TABLE projects (
		folder {text} NOT NULL,
		project {text} NOT NULL,
		PRIMARY KEY (folder, project)
	) {clustered}`,
}

// A VersionError means that a database was made by a newer program.
type VersionError struct {
	Database   string
	Has, Knows int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %d, and this program knows versions up to %d: it was made by a newer "+
		"one, use that", e.Database, e.Has, e.Knows)
}

// migrate brings the database up to date. Several processes may do so at once.
func (s *Store) migrate(ctx context.Context) error {
	has, err := s.version(ctx, s.read)
	if err != nil || has == len(migrations) {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		if has, err = s.version(ctx, tx); err != nil {
			return err
		}
		for ; has < len(migrations); has++ {
			for text := range strings.SplitSeq(migrations[has], ";") {
				if _, err := tx.ExecContext(ctx, s.q(text)); err != nil {
					return fmt.Errorf("bring %s to version %d: %w", s.name, has+1, err)
				}
			}
			if _, err := tx.ExecContext(ctx,
				s.q(`INSERT INTO schema_migrations (version, applied_at) VALUES (?, {now})`), has+1); err != nil {
				return err
			}
		}
		return nil
	})
}

type queryer interface {
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

// version says how far the database is; within a transaction it makes the table that says so.
func (s *Store) version(ctx context.Context, q queryer) (int, error) {
	var ours, tables int
	if err := q.QueryRowContext(ctx, s.q(s.d.tables())).Scan(&ours, &tables); err != nil {
		return 0, err
	}
	if ours == 0 {
		if tables > 0 {
			return 0, fmt.Errorf("%s: %w", s.name, errForeign)
		}
		if _, in := q.(*sql.Tx); in {
			_, err := q.ExecContext(ctx,
				s.q(`CREATE TABLE schema_migrations (version {bigint} PRIMARY KEY, applied_at {bigint} NOT NULL)`))
			return 0, err
		}
		return 0, nil
	}
	var has int
	if err := q.QueryRowContext(ctx, s.q(`SELECT coalesce(max(version), 0) FROM schema_migrations`)).Scan(
		&has); err != nil {
		return 0, err
	}
	if has > len(migrations) {
		return has, &VersionError{Database: s.name, Has: has, Knows: len(migrations)}
	}
	return has, nil
}

var errForeign = errors.New("it holds tables of another program; give runs a database of their own")
