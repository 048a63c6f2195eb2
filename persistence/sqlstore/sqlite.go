package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

const (
	busy         = 10 * time.Second     // how long another process that writes is waited for
	connectPause = 5 * time.Millisecond // between attempts, see connect

	// How many pages the log has before it is copied to the file and begun again. Where each save is synced, it
	// is done early: to sync what is written over is cheaper than to sync what makes the file longer, by more
	// than the additional copying costs. Decisions are not synced one by one, so for them each copying, with
	// its two syncs, is a cost of its own.
	shortLog, longLog = 150, 4000
)

// sqliteDB is the dialect of SQLite.
type sqliteDB struct {
	path string
	db   *sql.DB // has one connection
	file sameFile

	mu      sync.Mutex // guards the connection: one transaction at a time
	full    bool       // the connection syncs when it commits
	log     int        // how long the log may get, in pages
	begin   *sql.Stmt
	run     *sql.Stmt
	event   *sql.Stmt
	memory  *sql.Stmt
	text    *sql.Stmt
	commit  *sql.Stmt
	prepare error
	once    sync.Once
}

func (d *sqliteDB) words() []string {
	return []string{
		"{identity}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{text}", "TEXT", "{bigint}", "INTEGER", "{bytes}", "BLOB",
		"{clustered}", "WITHOUT ROWID", "{now}", "CAST(unixepoch('subsec') * 1000 AS INTEGER)", "{place}", "instr",
	}
}

func (d *sqliteDB) numbered() bool  { return false }
func (d *sqliteDB) lockRow() string { return "" }
func (d *sqliteDB) remote() bool    { return false }

func (d *sqliteDB) tables() string {
	return `SELECT coalesce(sum(name IN ('schema_migrations', 'leases')), 0) = 2, count(*) FROM sqlite_master
		WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT IN (` + checkpointTables + `)`
}

// serialise does nothing: every transaction that writes begins with the only lock there is.
func (d *sqliteDB) serialise(context.Context, *sql.Tx) error { return nil }

// sqliteFile makes the file of a database, and the folder it is in, if need be. It returns the absolute path.
func sqliteFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// What runs remember is no one else's business. SQLite gives its other files the mode of this one.
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// sqliteConns opens no connection yet; there will be one at a time at most. Transactions begin with the lock to write.
func sqliteConns(path string, wait time.Duration, pragma string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "journal_mode(WAL)",
		fmt.Sprintf("wal_autocheckpoint(%d)", shortLog), pragma,
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// openSQLite opens or makes a database in a file, and makes the folder it is in.
func openSQLite(ctx context.Context, path string) (*sqliteDB, *sql.DB, *sql.DB, error) {
	path, err := sqliteFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	d := &sqliteDB{path: path, full: true, log: shortLog}
	var dbs [3]*sql.DB
	for i, pragma := range []string{"synchronous(FULL)", "synchronous(NORMAL)", "query_only(1)"} {
		if dbs[i], err = sqliteConns(path, busy, pragma); err != nil {
			return nil, nil, nil, err
		}
	}
	dbs[2].SetMaxOpenConns(4)
	d.db = dbs[0]
	if err := d.connect(ctx, dbs[2]); err != nil {
		return nil, nil, nil, errors.Join(err, dbs[2].Close(), dbs[1].Close(), dbs[0].Close())
	}
	if d.file, err = openedFile(path); err != nil {
		return nil, nil, nil, errors.Join(err, dbs[2].Close(), dbs[1].Close(), dbs[0].Close())
	}
	return d, dbs[1], dbs[2], nil
}

// connect makes a first connection, which turns a new database to WAL. While another process does that, or writes what
// comes before it, SQLite says that it is busy and does not wait as it does elsewhere. A database in WAL stays so.
func (d *sqliteDB) connect(ctx context.Context, db *sql.DB) error {
	until := time.Now().Add(busy)
	for {
		err := db.PingContext(ctx)
		if err == nil || !d.passing(err) || time.Now().After(until) {
			return d.explain(err)
		}
		select {
		case <-time.After(connectPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (d *sqliteDB) prepared(ctx context.Context) error {
	d.once.Do(func() {
		for _, p := range []struct {
			stmt **sql.Stmt
			text string
		}{
			{&d.begin, "BEGIN IMMEDIATE"},
			{&d.run, saveRun},
			{&d.event, saveEvent},
			{&d.memory, saveMemory},
			{&d.text, saveText},
			{&d.commit, "COMMIT"},
		} {
			if *p.stmt, d.prepare = d.db.PrepareContext(ctx, translate(d, p.text)); d.prepare != nil {
				return
			}
		}
	})
	return d.prepare
}

// change implements dialect. What is not durable is not synced: it concerns processes of this machine, which do
// not outlive a loss of power either.
func (d *sqliteDB) change(ctx context.Context, durable bool, f func(tx *sql.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sync(ctx, durable); err != nil {
		return err
	}
	if err := inTx(ctx, d.db, f); err != nil {
		return err
	}
	return d.there()
}

// erasing implements dialect. The log is copied to the file and cut, unless others read from it for so long.
func (d *sqliteDB) erasing(ctx context.Context, f func() error) error {
	pragma := func(text string) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, err := d.db.ExecContext(ctx, "PRAGMA "+text)
		return err
	}
	if err := pragma("secure_delete = ON"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, pragma("secure_delete = OFF"))
	}
	return errors.Join(pragma("wal_checkpoint(TRUNCATE)"), pragma("secure_delete = OFF"))
}

func (d *sqliteDB) there() error { return d.file.there() }

// save implements dialect. The statements are prepared and the transaction is begun by hand, because this is what a run
// does between any two actions.
func (d *sqliteDB) save(ctx context.Context, b *batch) (done bool, err error) {
	ctx = context.WithoutCancel(ctx) // busy bounds it
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.prepared(ctx); err != nil {
		return false, err
	}
	if err := d.sync(ctx, b.durable); err != nil {
		return false, err
	}
	if err := d.logLength(ctx, b); err != nil {
		return false, err
	}
	if _, err := d.begin.ExecContext(ctx); err != nil {
		return false, err
	}
	defer func() {
		if !done {
			_, e := d.db.ExecContext(ctx, "ROLLBACK")
			if err == nil {
				err = e
			}
		}
	}()
	res, err := d.run.ExecContext(ctx, b.status, int64(b.to), int64(b.whole), b.about, b.run, b.epoch, int64(b.from))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	for _, t := range behind(b.texts, b.from) {
		if _, err := d.text.ExecContext(ctx, b.run, t.name, []byte(t.body)); err != nil {
			return false, err
		}
	}
	for _, e := range behind(b.events, b.from) {
		if _, err := d.event.ExecContext(ctx, b.run, int64(e.seq), e.body); err != nil {
			return false, err
		}
	}
	for _, m := range behind(b.memory, b.from) {
		if _, err := d.memory.ExecContext(ctx, b.run, int64(m.seq), orNull(m.patch), orNull(m.whole)); err != nil {
			return false, err
		}
	}
	if _, err := d.commit.ExecContext(ctx); err != nil {
		return false, err
	}
	return true, d.there()
}

func (d *sqliteDB) addEvents(ctx context.Context, tx *sql.Tx, run int64, events []eventRow) error {
	stmt, err := tx.PrepareContext(ctx, saveEvent)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, e := range events {
		if _, err := stmt.ExecContext(ctx, run, int64(e.seq), e.body); err != nil {
			return err
		}
	}
	return nil
}

func orNull(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// sync reports whether the next commit is durable when it returns. Called with mu held, outside a transaction.
func (d *sqliteDB) sync(ctx context.Context, full bool) error {
	if d.full == full {
		return nil
	}
	level := "NORMAL"
	if full {
		level = "FULL"
	}
	if _, err := d.db.ExecContext(ctx, "PRAGMA synchronous = "+level); err != nil {
		return err
	}
	d.full = full
	return nil
}

// logLength sets how long the log may get. A save that only makes durable what was saved before, because the
// time for it has come, leaves that as it is. Called like sync.
func (d *sqliteDB) logLength(ctx context.Context, b *batch) error {
	pages := longLog
	if b.durable {
		pages = shortLog
	}
	if d.log == pages || b.to == b.from {
		return nil
	}
	if _, err := d.db.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", pages)); err != nil {
		return err
	}
	d.log = pages
	return nil
}

// The primary result codes of SQLite, https://www.sqlite.org/rescode.html.
const (
	codeBusy       = 5
	codeLocked     = 6
	codeReadOnly   = 8
	codeIOError    = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCannotOpen = 14
	codeProtocol   = 15
	codeConstraint = 19
	codeNotADB     = 26
)

// sqliteCode returns the primary result code of an error of the driver, 0 of any other error.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// lockedOut reports whether another process had a lock of the database for so long that SQLite gave up, and changed
// nothing. SQLITE_PROTOCOL says so of a transaction that could not begin: https://www.sqlite.org/rescode.html#protocol.
func lockedOut(err error) bool {
	switch sqliteCode(err) {
	case codeBusy, codeLocked, codeProtocol:
		return true
	}
	return false
}

func (d *sqliteDB) passing(err error) bool { return lockedOut(err) }

func (d *sqliteDB) unreachable(error) bool { return false }

func (d *sqliteDB) explain(err error) error {
	if lockedOut(err) {
		return fmt.Errorf("%s: %w", d.path, persistence.ErrBusy)
	}
	switch sqliteCode(err) {
	case codeFull:
		return &fs.PathError{Op: "write", Path: d.path, Err: syscall.ENOSPC}
	case codeReadOnly:
		return &fs.PathError{Op: "write", Path: d.path, Err: fmt.Errorf("%w (%w)", fs.ErrPermission, err)}
	case codeCannotOpen: // also of a file beside it; SQLite does not say why
		return &fs.PathError{
			Op: "use", Path: d.path,
			Err: fmt.Errorf("%w: its disk may be full, or its folder closed to this user", err),
		}
	case codeIOError:
		return &fs.PathError{Op: "use", Path: d.path, Err: err}
	case codeNotADB, codeCorrupt:
		return &persistence.UnreadableError{Store: d.path, Err: err}
	}
	return err
}

func (d *sqliteDB) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.db.Close()
}
