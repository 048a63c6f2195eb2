package trigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"loops/persistence"
)

// A RiverQueue is the tables of River in one database. It implements [QueueEngine].
type RiverQueue struct{ pool *pgxpool.Pool }

// args are what a job of River says. The key is for counting, and is no part of what makes a job of a run the only one.
type args struct {
	Run string `json:"run" river:"unique"`
	Key string `json:"key"`
}

func (args) Kind() string { return "loops_run" }

// live are the states of a job that is queued or that a worker has: a run has one job in them at most.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning,
	rivertype.JobStateScheduled,
}

const liveStates = `('available', 'pending', 'retryable', 'running', 'scheduled')`

// How long rows of jobs that are over stay: they hold nothing that the run does not.
const keepRows = time.Hour

// forEver is longer than any job: whether a worker that has one is gone we find out ourselves.
const forEver = 20 * 365 * 24 * time.Hour

// OpenRiver returns the queue in the database of a location of a store of PostgreSQL. Nothing is connected
// before it is used.
func OpenRiver(ctx context.Context, location string) (*RiverQueue, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, persistence.ErrNoWorkers
	}
	q := u.Query()
	q.Del("lease")
	q.Del("durability")
	u.RawQuery = q.Encode()
	config, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, errors.New("the location of the store is no URL of PostgreSQL") // err may have the password
	}
	config.MaxConns = 4
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &RiverQueue{pool}, nil
}

// Close implements [QueueEngine].
func (q *RiverQueue) Close() error {
	q.pool.Close()
	return nil
}

// storeLock is that under which the store changes its tables.
const storeLock = `SELECT pg_advisory_xact_lock(hashtextextended('loops ' || current_schema(), 0))`

// Prepare implements [QueueEngine]. Workers that begin at once do it one after the other.
func (q *RiverQueue) Prepare(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	known := 0
	for _, v := range m.AllVersions() {
		known = max(known, v.Version)
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, storeLock); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass('river_migration') IS NOT NULL`).Scan(&there); err != nil {
			return err
		}
		if there {
			var has int
			if err := tx.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM river_migration`).Scan(&has); err != nil {
				return err
			}
			if has > known {
				return &NewerError{What: "the tables of the queue (River)", Has: has, Knows: known}
			}
			if has == known {
				return nil
			}
		}
		// In transactions of their own, because one uses what another one has added. Ours only has the lock.
		if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("make the tables of the queue: %w", err)
		}
		return nil
	})
}

// undefined reports whether a table or a column is not there: no worker has prepared the database yet.
func undefined(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "42P01" || e.Code == "42703")
}

// inserter is a client that only inserts.
func (q *RiverQueue) inserter() (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(q.pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
}

func params(j persistence.Job) (args, *river.InsertOpts) {
	priority := min(max(j.Priority, FirstPriority), LastPriority)
	return args{Run: string(j.Run), Key: j.Key}, &river.InsertOpts{
		Queue: ChannelOf(j), Priority: priority, MaxAttempts: 1000,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}
}

// Place implements [QueueEngine]. Before a worker has made the tables nothing is queued.
func (q *RiverQueue) Place(ctx context.Context, j persistence.Job) (placed bool, err error) {
	c, err := q.inserter()
	if err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		var ahead int
		if err := tx.QueryRow(ctx,
			`SELECT count(*) FROM (SELECT 1 FROM river_job WHERE state = 'available' AND queue = $1 AND args ->> 'key' = $2 LIMIT $3) AS ahead`,
			ChannelOf(j), j.Key, Window).Scan(&ahead); err != nil {
			return err
		}
		if ahead >= Window {
			return nil
		}
		a, o := params(j)
		res, err := c.InsertTx(ctx, tx, a, o)
		placed = err == nil && !res.UniqueSkippedAsDuplicate
		return err
	})
	if undefined(err) {
		return false, nil
	}
	return placed, err
}

// arranging is the lock of the processes that change what is queued.
const arranging = `SELECT pg_try_advisory_xact_lock(hashtextextended('loops queue ' || current_schema(), 0))`

// Arrange implements [QueueEngine].
func (q *RiverQueue) Arrange(ctx context.Context, plan func(map[persistence.ID]Ticket) (QueuePlan, error)) error {
	c, err := q.inserter()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		// A worker that is frozen here would keep all others from arranging: the server ends its session.
		idle := 30 * time.Second
		if end, ok := ctx.Deadline(); ok {
			idle = min(idle, max(time.Until(end), 500*time.Millisecond))
		}
		if _, err := tx.Exec(ctx,
			fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", idle.Milliseconds())); err != nil {
			return err
		}
		var mine bool
		if err := tx.QueryRow(ctx, arranging).Scan(&mine); err != nil || !mine {
			return err
		}
		queued, err := tickets(ctx, tx)
		if err != nil {
			return err
		}
		p, err := plan(queued)
		if err != nil {
			return err
		}
		return apply(ctx, tx, c, p)
	})
}

// apply changes what is queued. What a worker that is gone had is discarded and not only queued again: when that worker
// wakes, River completes its job by the state alone, and would complete the one of its successor.
func apply(ctx context.Context, tx pgx.Tx, c *river.Client[pgx.Tx], p QueuePlan) error {
	for _, j := range p.Replace {
		if err := discard(ctx, tx, j.Run, liveStates); err != nil {
			return err
		}
	}
	for _, id := range p.Drop {
		if err := discard(ctx, tx, id, `('available', 'pending', 'retryable', 'scheduled')`); err != nil {
			return err
		}
	}
	var all []river.InsertManyParams
	for _, jobs := range [][]persistence.Job{p.Replace, p.Place} {
		for _, j := range jobs {
			a, o := params(j)
			all = append(all, river.InsertManyParams{Args: a, InsertOpts: o})
		}
	}
	if len(all) == 0 {
		return nil
	}
	_, err := c.InsertManyTx(ctx, tx, all)
	return err
}

// discard ends the jobs of a run that are in one of these states. A test pins the columns that it writes.
func discard(ctx context.Context, tx pgx.Tx, id persistence.ID, states string) error {
	_, err := tx.Exec(ctx,
		`UPDATE river_job SET state = 'discarded', finalized_at = now() WHERE kind = 'loops_run' AND args ->> 'run' = $1 AND state IN `+
			states, string(id))
	return err
}

// tickets reads what is queued.
func tickets(ctx context.Context, tx pgx.Tx) (map[persistence.ID]Ticket, error) {
	rows, err := tx.Query(ctx,
		`SELECT args ->> 'run', state = 'running', coalesce(attempted_by[array_upper(attempted_by, 1)], ''), created_at FROM river_job
		WHERE kind = 'loops_run' AND state IN `+liveStates)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	queued := make(map[persistence.ID]Ticket)
	for rows.Next() {
		var id string
		var t Ticket
		if err := rows.Scan(&id, &t.Taken, &t.Worker, &t.Since); err != nil {
			return nil, err
		}
		queued[persistence.ID(id)] = t
	}
	return queued, rows.Err()
}

// Cancel implements [QueueEngine].
func (q *RiverQueue) Cancel(ctx context.Context, id persistence.ID) error {
	err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error { return discard(ctx, tx, id, liveStates) })
	if undefined(err) {
		return nil
	}
	return err
}

// A doer has River do jobs.
type doer struct {
	river.WorkerDefaults[args]
	do    func(context.Context, persistence.ID) bool
	slots chan struct{}
}

// handBack is how long a job rests that a worker takes without a slot for it: others have their try first.
const handBack = 250 * time.Millisecond

func (d *doer) Timeout(*river.Job[args]) time.Duration { return -1 }

func (d *doer) Work(ctx context.Context, j *river.Job[args]) error {
	select {
	case d.slots <- struct{}{}:
	default: // jobs of several channels came at once
		return river.JobSnooze(handBack)
	}
	defer func() { <-d.slots }()
	if !d.do(ctx, persistence.ID(j.Args.Run)) {
		return river.JobSnooze(0)
	}
	return nil
}

// Work implements [QueueEngine]. River reports the end of ctx only once all jobs are over.
func (q *RiverQueue) Work(ctx context.Context, s Subscription, do func(context.Context, persistence.ID) bool) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &doer{do: do, slots: make(chan struct{}, s.Slots)})
	queue := river.QueueConfig{
		MaxWorkers: s.Slots, FetchCooldown: 10 * time.Millisecond,
		FetchPollInterval: 500 * time.Millisecond,
	}
	queues := make(map[string]river.QueueConfig)
	for _, name := range s.Channels {
		queues[name] = queue
	}
	c, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID: s.Worker, Queues: queues, Workers: workers, Logger: slog.New(slog.DiscardHandler), JobTimeout: -1,
		RescueStuckJobsAfter:        forEver,
		CancelledJobRetentionPeriod: keepRows, CompletedJobRetentionPeriod: keepRows,
		DiscardedJobRetentionPeriod: keepRows,
	})
	if err != nil {
		return err
	}
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	var added sync.Map
	for _, name := range s.Channels {
		added.Store(name, true)
	}
	for {
		select {
		case name := <-s.More:
			if _, again := added.LoadOrStore(name, true); !again {
				if err := c.Queues().Add(name, queue); err != nil {
					return errors.Join(fmt.Errorf("take jobs of %s: %w", name, err), c.Stop(context.WithoutCancel(ctx)))
				}
			}
		case <-ctx.Done():
			return c.StopAndCancel(context.WithoutCancel(ctx))
		}
	}
}

var _ QueueEngine = (*RiverQueue)(nil)
