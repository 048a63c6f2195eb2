package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"loops/persistence"
)

// postgresDB is the dialect of PostgreSQL.
type postgresDB struct {
	name string // of the database, for a person
	db   *sql.DB
	try  time.Duration // how long one save may take before it is looked for
}

// statementTimeouts bound how long a process that hangs in a transaction is in the way of others.
var statementTimeouts = map[string]string{"lock_timeout": "30s", "idle_in_transaction_session_timeout": "30s"}

// openPostgres opens a database. Connections are made when they are needed.
func openPostgres(ctx context.Context, u *url.URL, lease time.Duration) (d *postgresDB, beat, read *sql.DB, err error) {
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		_, problem, _ := strings.Cut(err.Error(), "`: ") // behind the URL
		return nil, nil, nil, badURL(u.String(), cmp.Or(problem, "it is no URL of PostgreSQL"))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = lease / 3
	}
	if config.ValidateConnect == nil && slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != config.Host || f.Port != config.Port
	}) {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // one of several is the primary
	}
	for k, v := range statementTimeouts {
		if _, ok := config.RuntimeParams[k]; !ok {
			config.RuntimeParams[k] = v
		}
	}
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	d = &postgresDB{name: shown.String(), try: lease / 3}
	open := func(conns int) *sql.DB {
		db := sql.OpenDB(&patientConnector{Connector: stdlib.GetConnector(*config.Copy())})
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db
	}
	d.db = open(8) // for reading too: a command that does one thing after the other makes one connection
	if err := d.makeSchema(ctx, d.db, config.RuntimeParams["search_path"]); err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("%s: %w", d.name, err), d.db.Close())
	}
	config.RuntimeParams["synchronous_commit"] = "off"
	return d, open(1), d.db, nil
}

// makeSchema makes the schema that search_path names, if it is not there.
func (d *postgresDB) makeSchema(ctx context.Context, db *sql.DB, path string) error {
	var schema sql.NullString
	if err := db.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return err
	}
	if schema.Valid || path == "" || strings.ContainsAny(path, `,"`) {
		return nil
	}
	_, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{path}.Sanitize())
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		return nil // another process was faster by a hair
	}
	return err
}

func (d *postgresDB) words() []string {
	return []string{
		"{identity}", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{text}", `text COLLATE "C"`, "{bigint}",
		"bigint",
		"{bytes}", "bytea", "{clustered}", "", "{now}", "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
		"{place}", "strpos",
	}
}

func (d *postgresDB) numbered() bool  { return true }
func (d *postgresDB) lockRow() string { return " FOR UPDATE OF r" }
func (d *postgresDB) remote() bool    { return true }

// erasing implements dialect. What the server keeps of rows until they are vacuumed is its own.
func (d *postgresDB) erasing(_ context.Context, f func() error) error { return f() }

func (d *postgresDB) there() error { return nil } // the server says so

func (d *postgresDB) tables() string {
	return `SELECT (count(*) FILTER (WHERE tablename IN ('schema_migrations', 'leases')) = 2)::int, count(*)
		FROM pg_tables WHERE schemaname = current_schema()
		AND tablename IN ('schema_migrations', 'runs', 'leases', 'events', 'memory', 'texts', 'definitions', 'places',
			'removals', 'commands')`
}

func (d *postgresDB) serialise(ctx context.Context, tx *sql.Tx) error {
	// What is changed so is durable, whatever the session says: an epoch that was forgotten would be given out again.
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('loops ' || current_schema(), 0)),
		CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`)
	return err
}

// change implements dialect.
func (d *postgresDB) change(ctx context.Context, _ bool, f func(tx *sql.Tx) error) error {
	return inTx(ctx, d.db, f)
}

// postgresSave is a save as one statement, in one round trip: the parts do nothing where saveRun changes no row.
const postgresSave = `WITH level AS MATERIALIZED (
		SELECT set_config('synchronous_commit',
			CASE WHEN NOT ? THEN 'off' WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
				ELSE current_setting('synchronous_commit') END,
			true) AS v
	), saved AS (
		UPDATE runs SET status = ?, seq = ?, whole = ?, about = ?, updated_at = {now}
		FROM level WHERE n = ? AND epoch = ? AND seq = ? AND level.v IS NOT NULL RETURNING n
	), happened AS (
		INSERT INTO events (run, seq, body) SELECT saved.n, x.seq, x.body
			FROM saved, unnest(?::bigint[], ?::text[]) AS x (seq, body)
	), remembered AS (
		INSERT INTO memory (run, seq, patch, whole)
		SELECT saved.n, x.seq, x.patch, x.whole
			FROM saved, unnest(?::bigint[], ?::text[], ?::text[]) AS x (seq, patch, whole)
	)
	SELECT count(*) FROM saved`

// save implements dialect.
func (d *postgresDB) save(ctx context.Context, b *batch) (done bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.try)
	defer cancel()
	// they are named by their content, so that it does no harm if only they are there
	for _, t := range behind(b.texts, b.from) {
		if _, err := d.db.ExecContext(ctx, translate(d, saveText), b.run, t.name, []byte(t.body)); err != nil {
			return false, err
		}
	}
	seqs, bodies := arrays(behind(b.events, b.from))
	var remembered []int64
	var patches, wholes []*string
	for _, m := range behind(b.memory, b.from) {
		remembered, patches, wholes = append(remembered, int64(m.seq)), append(patches, m.patch),
			append(wholes, m.whole)
	}
	var n int
	err = d.db.QueryRowContext(ctx, savePostgres(), b.durable, b.status, int64(b.to), int64(b.whole), b.about, b.run,
		b.epoch, int64(b.from),
		seqs, bodies, remembered, patches, wholes).Scan(&n)
	return err == nil && n == 1, err
}

func arrays(events []eventRow) (seqs []int64, bodies []string) {
	for _, e := range events {
		seqs, bodies = append(seqs, int64(e.seq)), append(bodies, e.body)
	}
	return seqs, bodies
}

func (d *postgresDB) addEvents(ctx context.Context, tx *sql.Tx, run int64, events []eventRow) error {
	seqs, bodies := arrays(events)
	_, err := tx.ExecContext(ctx,
		`INSERT INTO events (run, seq, body) SELECT $1, x.seq, x.body
			FROM unnest($2::bigint[], $3::text[]) AS x (seq, body)`,
		run, seqs, bodies)
	return err
}

var savePostgres = sync.OnceValue(func() string { return translate(&postgresDB{}, postgresSave) })

// passing implements dialect: everything but a word of the server about the statement itself is a broken connection.
func (d *postgresDB) passing(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	return strings.HasPrefix(e.Code, "08") || // connection exception
		strings.HasPrefix(e.Code, "40") || // deadlock and the like
		slices.Contains([]string{
			"25006", // read-only: a standby, perhaps not for long
			"25P03", // idle in transaction: we slept
			"53300", // too many connections
			"55P03", // lock not available
			"57014", // canceled
			"57P01", // the server is shut down
			"57P02", // it crashed
			"57P03", // it starts
			"57P05", // idle session
		}, e.Code)
}

func (d *postgresDB) unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, answer := errors.AsType[*pgconn.PgError](err)
	broken := slices.ContainsFunc([]error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF},
		func(e error) bool { return errors.Is(err, e) })
	return (network || connect || answer || broken) && d.passing(err)
}

func (d *postgresDB) explain(err error) error {
	if err == nil || errors.Is(err, persistence.ErrNotFound) {
		return err
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time: %w", d.name, err)
	case !ok:
		return err
	case e.Code == "55P03", e.Code == "57014":
		return fmt.Errorf("%s: %w (%w)", d.name, persistence.ErrBusy, err)
	case e.Code == "53100":
		return &fs.PathError{Op: "write", Path: d.name, Err: fmt.Errorf("%w (%w)", syscall.ENOSPC, err)}
	case e.Code == "42501":
		return fmt.Errorf("%s: %w (%w)", d.name, fs.ErrPermission, err)
	}
	return fmt.Errorf("%s: %w", d.name, err)
}

func (d *postgresDB) close() error { return d.db.Close() }
