package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loops/persistence"
	"loops/persistence/checkpoint"
)

// checkpointMigrations are those of the tables of Checkpoints, which may be beside those of runs: oldest first, only
// forward, and one that was released is never changed.
//
// Of a run, the row of checkpoints with the highest n is the newest one and the other is the one before; a
// third, marked as damaged, is kept for a person. A log that is cleared and begun again has a new n, so that no
// reader takes the one for the other.
var checkpointMigrations = []string{
	`CREATE TABLE checkpoints (
		n INTEGER PRIMARY KEY,
		run TEXT NOT NULL,
		damaged INTEGER NOT NULL DEFAULT 0,
		body BLOB NOT NULL
	);
	CREATE INDEX checkpoints_of_run ON checkpoints (run, damaged, n);
	CREATE TABLE checkpoint_logs (
		n INTEGER PRIMARY KEY AUTOINCREMENT,
		run TEXT NOT NULL UNIQUE,
		last INTEGER NOT NULL
	);
	CREATE TABLE checkpoint_events (
		log INTEGER NOT NULL,
		seq INTEGER NOT NULL,
		body BLOB NOT NULL,
		PRIMARY KEY (log, seq)
	)`,
}

// checkpointTables are all of them.
const checkpointTables = `'checkpoint_migrations', 'checkpoints', 'checkpoint_logs', 'checkpoint_events'`

var errForeignCheckpoints = errors.New("it holds tables of another program; give checkpoints a database of their own")

const (
	checkpointWait    = 30 * time.Second       // for other processes, see checkpoint.ErrBusy
	checkpointAttempt = 200 * time.Millisecond // how long SQLite waits before the context is looked at again
	checkpointPause   = 5 * time.Millisecond   // between attempts: there are locks for which SQLite does not wait
)

// OpenCheckpoints opens or makes the database in a file, and makes the folder it is in. It may be the database of a
// Store: each has tables of its own there. The error is a *VersionError if a newer program made the tables.
func OpenCheckpoints(ctx context.Context, path string) (_ *Checkpoints, err error) {
	made, err := missingFolders(path)
	if err != nil {
		return nil, err
	}
	if path, err = sqliteFile(path); err != nil {
		return nil, err
	}
	for _, dir := range append(made, filepath.Dir(path)) { // SQLite syncs no name but that of its log
		if err := syncFolder(dir); err != nil {
			return nil, err
		}
	}
	c := &Checkpoints{path: path, wait: checkpointWait}
	if c.write, err = sqliteConns(path, checkpointAttempt, "synchronous(FULL)"); err != nil {
		return nil, err
	}
	if c.read, err = sqliteConns(path, checkpointAttempt, "query_only(1)"); err != nil {
		return nil, errors.Join(err, c.write.Close())
	}
	c.read.SetMaxOpenConns(4)
	if c.file, err = openedFile(path); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.migrate(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// missingFolders returns the folders that get a new entry when the folder of path is made.
func missingFolders(path string) ([]string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var parents []string
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	return parents, nil
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Close closes the database. No method may be called from then on.
func (c *Checkpoints) Close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.read.Close(), c.write.Close())
}

func (c *Checkpoints) migrate(ctx context.Context) error {
	var has int
	err := c.patiently(ctx, func(ctx context.Context) (err error) {
		has, err = c.version(ctx, c.read)
		return err
	})
	if err != nil || has == len(checkpointMigrations) {
		return err
	}
	return c.change(ctx, func(ctx context.Context, tx *sql.Conn) error {
		has, err := c.version(ctx, tx) // another process may have been faster
		if err != nil {
			return err
		}
		if has == 0 {
			const table = `CREATE TABLE IF NOT EXISTS checkpoint_migrations (version INTEGER PRIMARY KEY,
				applied_at INTEGER NOT NULL)`
			if _, err := tx.ExecContext(ctx, table); err != nil {
				return err
			}
		}
		for ; has < len(checkpointMigrations); has++ {
			for text := range strings.SplitSeq(checkpointMigrations[has], ";") {
				if _, err := tx.ExecContext(ctx, text); err != nil {
					return fmt.Errorf("bring the checkpoints to version %d: %w", has+1, err)
				}
			}
			const done = `INSERT INTO checkpoint_migrations (version, applied_at)
				VALUES (?, CAST(unixepoch('subsec') * 1000 AS INTEGER))`
			if _, err := tx.ExecContext(ctx, done, has+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// version returns how far the tables are, 0 if there are none.
func (c *Checkpoints) version(ctx context.Context, q queryer) (has int, err error) {
	var ours, runs, others int
	err = q.QueryRowContext(ctx,
		`SELECT coalesce(sum(name = 'checkpoint_migrations'), 0), coalesce(sum(name IN ('schema_migrations',
			'leases')), 0),
		coalesce(sum(name NOT GLOB 'sqlite_*'), 0) FROM sqlite_master WHERE type = 'table'`).Scan(&ours, &runs, &others)
	switch {
	case err != nil:
		return 0, err
	case ours == 0 && runs < 2 && others > 0:
		return 0, fmt.Errorf("%s: %w", c.path, errForeignCheckpoints)
	case ours == 0:
		return 0, nil
	}
	if err := q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM checkpoint_migrations`).Scan(&has); err !=
		nil {
		return 0, err
	}
	if has > len(checkpointMigrations) {
		return has, &VersionError{Database: c.path + " (checkpoints)", Has: has, Knows: len(checkpointMigrations)}
	}
	return has, nil
}

// change does f in a transaction that no one else writes beside, and that is durable when it returns nil. f may be done
// again, and its context is not cancelled: whether a commit was cancelled in time could not be known.
func (c *Checkpoints) change(ctx context.Context, f func(ctx context.Context, tx *sql.Conn) error) error {
	return c.patiently(ctx, func(ctx context.Context) (err error) {
		tx, err := c.write.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() {
			if e := tx.Close(); err == nil {
				err = e
			}
		}()
		ctx = context.WithoutCancel(ctx)
		if _, err := tx.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if err = f(ctx, tx); err == nil {
			_, err = tx.ExecContext(ctx, "COMMIT")
		}
		if err == nil {
			return c.file.there()
		}
		if _, e := tx.ExecContext(ctx, "ROLLBACK"); e != nil {
			// SQLite may have ended the transaction by itself; a connection that goes ends it in any case.
			_ = tx.Raw(func(any) error { return driver.ErrBadConn })
		}
		return err
	})
}

// patiently does f, again and again while another process has a lock. Its errors are those of package checkpoint.
func (c *Checkpoints) patiently(ctx context.Context, f func(ctx context.Context) error) error {
	until := time.Now().Add(c.wait)
	d := &sqliteDB{path: c.path}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case d.passing(err) && time.Now().Before(until):
			select {
			case <-time.After(checkpointPause):
			case <-ctx.Done():
			}
			continue
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return context.Cause(ctx)
		}
		err = d.explain(err)
		if damage, ok := errors.AsType[*persistence.UnreadableError](err); ok {
			return &checkpoint.DamageError{File: damage.Store, What: damage.Err.Error()}
		}
		if errors.Is(err, persistence.ErrBusy) {
			return fmt.Errorf("%s: %w", c.path, checkpoint.ErrBusy)
		}
		return err
	}
}
