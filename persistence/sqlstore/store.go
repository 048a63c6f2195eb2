package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"loops/persistence"
)

// A Store keeps runs in a database. It implements [persistence.Store]; its journals have leases. Set its
// fields before the first use.
type Store struct {
	persistence.Plain // a run is moved to the archive at once

	// Liveness reports whether a process that was recorded as an owner at a time may still live; false means that it is
	// dead for sure. nil asks whether any process of this machine has the pid, where the owner is on this machine.
	Liveness func(o persistence.Owner, recorded time.Time) bool

	// Sight reports what this process can know of an owner. nil: an owner whose machine has our name is visible.
	Sight func(o persistence.Owner) persistence.Sight

	// Folder holds the working folders of runs: Folder/<id>. Open sets it to the folder runs beside the file of SQLite,
	// and else to .loops/runs.
	Folder string

	// Projects are the names of the project that the store is opened for. Runs are recorded with the first;
	// those with another name, or with none, are the project's as well. No other run is listed, read or
	// changed. Empty: all runs of the database are the caller's.
	Projects []string

	// Admitted returns runs of other projects that the caller may read and carry nevertheless, and whether one
	// becomes a run of this project when it is carried. nil = none.
	Admitted func() map[persistence.ID]bool

	// Paths locks what runs work on in the files of this machine as well, so that those recorded elsewhere
	// respect it. nil: only runs recorded in this database do.
	Paths persistence.PathLocker

	// Durability says when what runs record can no longer be lost with the power. Open sets it to what the URL says.
	Durability persistence.Durability

	d     dialect
	name  string // of the database, for a person
	read  *sql.DB
	beat  *sql.DB
	lease time.Duration
	host  string
	cache sync.Map // translated statements

	moved     movedProjects
	finishing sync.Once // what processes that died left of removals was removed
	owned     sync.Map  // the journals of this process, by id: a read in this process saves what waits in them first
}

// Lease is how long a run is safe from being taken over while its owner does not renew it. The parameter lease of the
// URL sets it.
const Lease = 30 * time.Second

// Open opens the database of a URL and brings its schema up to date:
//
//	sqlite:PATH                   a file, which is made if need be
//	postgres://USER@HOST/NAME     a database of PostgreSQL, with the parameters that its clients know
//
// The URL can have the parameters lease (a duration of at least 100 ms, 30 s if not given) and durability (strict,
// grouped or none). A path of SQLite has no escapes, and no question mark.
func Open(ctx context.Context, location string) (*Store, error) {
	scheme, rest, ok := strings.Cut(location, ":")
	if !ok {
		return nil, badURL(location, "there is no scheme")
	}
	s := &Store{lease: Lease}
	s.host, _ = os.Hostname()
	var err error
	switch scheme {
	case "sqlite":
		path, query, _ := strings.Cut(rest, "?")
		if path == "" {
			return nil, badURL(location, "there is no path")
		}
		q, err := url.ParseQuery(query)
		if err != nil {
			return nil, badURL(location, err.Error())
		}
		if err := s.configure(q); err != nil {
			return nil, badURL(location, err.Error())
		}
		for k := range q {
			return nil, badURL(location, fmt.Sprintf("the parameter %s is unknown", k))
		}
		d, beat, read, err := openSQLite(ctx, path)
		if err != nil {
			return nil, err
		}
		s.d, s.beat, s.read, s.name = d, beat, read, d.path
		s.Folder = filepath.Join(filepath.Dir(d.path), "runs")
	case "postgres", "postgresql":
		u, err := url.Parse(location)
		if err != nil {
			return nil, badURL(location, "it is no URL")
		}
		q := u.Query()
		if err := s.configure(q); err != nil {
			return nil, badURL(location, err.Error())
		}
		u.RawQuery = q.Encode()
		d, beat, read, err := openPostgres(ctx, u, s.lease)
		if err != nil {
			return nil, err
		}
		s.d, s.beat, s.read, s.name = d, beat, read, d.name
		if s.Folder, err = filepath.Abs(filepath.Join(".loops", "runs")); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	default:
		return nil, badURL(location, fmt.Sprintf("the scheme %q is unknown", scheme))
	}
	if err = s.migrate(ctx); err != nil {
		return nil, errors.Join(s.d.explain(err), s.Close())
	}
	return s, nil
}

// An URLError means that a location of a store cannot be understood.
type URLError struct{ Location, Problem string }

func (e *URLError) Error() string {
	return fmt.Sprintf("store %s: %s; expected sqlite:PATH or postgres://USER@HOST/NAME", e.Location, e.Problem)
}

func badURL(location, problem string) error {
	return &URLError{Location: persistence.Redacted(location), Problem: problem}
}

// configure takes our parameters out of a URL.
func (s *Store) configure(q url.Values) error {
	if v := q.Get("lease"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d < 100*time.Millisecond {
			return fmt.Errorf("lease=%s is no duration of at least 100ms, such as 30s", v)
		}
		s.lease = d
	}
	if v := q.Get("durability"); v != "" {
		var err error
		if s.Durability, err = persistence.ParseDurability(v); err != nil {
			return fmt.Errorf("durability=%s is neither strict, grouped nor none", v)
		}
	}
	q.Del("lease")
	q.Del("durability")
	return nil
}

// Close closes the database. Journals are closed before.
func (s *Store) Close() error { return errors.Join(s.beat.Close(), s.read.Close(), s.d.close()) }

// Name says which database it is, for a person, without a password.
func (s *Store) Name() string { return s.name }

// change does f in a transaction.
func (s *Store) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	return s.explained(s.d.change(ctx, false, f))
}

// changeDurably is change, and what was done cannot be lost with the power when it returns.
func (s *Store) changeDurably(ctx context.Context, f func(tx *sql.Tx) error) error {
	return s.explained(s.d.change(ctx, true, f))
}

// inTx does f in a transaction. After an *UncertainError it may have been committed.
func inTx(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	if ctx.Err() != nil { // or it would not be known whether COMMIT was sent
		_ = tx.Rollback()
		return ctx.Err()
	}
	if err := tx.Commit(); err != nil && !rolledBack(err) {
		return &persistence.UncertainError{Err: err}
	} else if err != nil {
		return err
	}
	return nil
}

// rolledBack reports whether a COMMIT that failed with an error changed nothing for certain. A server that
// refuses it with an error has rolled back; of one that did not answer that is not known, nor of a file whose
// sync failed: the pages may be read again.
func rolledBack(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.SeverityUnlocalized == "ERROR"
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, sql.ErrTxDone) {
		return true // pgconn.SafeToRetry is of no use: of a connection that breaks after COMMIT was sent it says yes
	}
	switch sqliteCode(err) {
	case codeFull, codeConstraint:
		return true
	}
	return lockedOut(err)
}

// dead reports whether the owner of a run is dead for sure.
func (s *Store) dead(o persistence.Owner, recorded time.Time) bool {
	if o.PID <= 0 {
		return false
	}
	if s.Liveness != nil {
		return !s.Liveness(o, recorded)
	}
	return s.sight(o) == persistence.Visible && errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH)
}

func (s *Store) sight(o persistence.Owner) persistence.Sight {
	switch {
	case s.Sight != nil:
		return s.Sight(o)
	case s.local(o):
		return persistence.Visible
	}
	return persistence.Elsewhere
}

// local reports whether an owner is a process of a machine with our name, which has its files where we have ours.
func (s *Store) local(o persistence.Owner) bool { return o.Host != "" && o.Host == s.host }

func (s *Store) work(id persistence.ID) string {
	return filepath.Join(s.Folder, filepath.FromSlash(string(id)))
}

// legible reports whether a text can be in a statement at all. What is not is in no row.
func legible(s string) bool {
	for _, r := range s {
		if r == 0 || r == '\ufffd' {
			return false
		}
	}
	return true
}

var _ persistence.Store = (*Store)(nil)
