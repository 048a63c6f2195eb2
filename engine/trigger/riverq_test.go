package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver

	"loops/engine/trigger"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

var (
	used   atomic.Bool
	server = sync.OnceValues(func() (*testenv.PostgresServer, error) {
		used.Store(true)
		return testenv.StartPostgres(context.Background(), testenv.QuickSettings...)
	})
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	testenv.Parallel(8)
	code := m.Run()
	if used.Load() {
		if s, err := server(); err == nil {
			if err := s.Remove(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// database returns the location of an empty schema.
func database(t *testing.T) string {
	t.Helper()
	s, err := server()
	if errors.Is(err, testenv.ErrNoPostgres) {
		testenv.Skip(t, "PostgreSQL: "+err.Error())
	}
	must(t, err)
	at := s.URL(fmt.Sprintf("q%d", schemas.Add(1)))
	store, err := sqlstore.Open(t.Context(), at) // makes the schema
	must(t, err)
	must(t, store.Close())
	return at
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, at string) *trigger.RiverQueue {
	t.Helper()
	q, err := trigger.OpenRiver(t.Context(), at)
	must(t, err)
	t.Cleanup(func() { must(t, q.Close()) })
	return q
}

func exec(t *testing.T, at, text string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	must(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), text, args...)
	must(t, err)
}

func ask(t *testing.T, at, text string) (answer string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	must(t, err)
	defer c.Close(t.Context())
	must(t, c.QueryRow(t.Context(), text).Scan(&answer))
	return answer
}

func job(id string) persistence.Job {
	return persistence.Job{Run: persistence.ID(id), Queue: "default", Priority: 3}
}

// A worker takes jobs until the test stops it.
type worker struct {
	took chan persistence.ID
	stop func() error
}

// work begins to take jobs; done answers each.
func work(t *testing.T, q *trigger.RiverQueue, name string, slots int, done func(persistence.ID) bool,
	channels ...string,
) *worker {
	t.Helper()
	if channels == nil {
		channels = []string{"default"}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &worker{took: make(chan persistence.ID, 100)}
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, trigger.Subscription{Worker: name, Slots: slots, Channels: channels},
			func(_ context.Context, id persistence.ID) bool {
				w.took <- id
				return done(id)
			})
	}()
	w.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { must(t, w.stop()) })
	return w
}

func (w *worker) next(t *testing.T) persistence.ID {
	t.Helper()
	select {
	case id := <-w.took:
		return id
	case <-time.After(testenv.Patience):
		t.Fatal("no job came")
		return ""
	}
}

// TestPlaced: a run has one job however often it is placed, before the tables are there it has none, and one
// whose worker is done can be placed again.
func TestPlaced(t *testing.T) {
	t.Parallel()
	at := database(t)
	q := open(t, at)
	if placed, err := q.Place(t.Context(), job("a")); err != nil || placed {
		t.Fatalf("before a worker made the tables: %v, %v", placed, err)
	}
	must(t, q.Cancel(t.Context(), "a"))
	var wg sync.WaitGroup
	for range 3 { // workers that begin at once
		wg.Go(func() {
			if err := open(t, at).Prepare(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 3 {
		if placed, err := q.Place(t.Context(), job("a")); err != nil || placed != (i == 0) {
			t.Fatalf("placed again: %v, %v", placed, err)
		}
	}
	w := work(t, q, "one", 2, func(persistence.ID) bool { return true })
	if id := w.next(t); id != "a" {
		t.Fatal(id)
	}
	must(t, w.stop()) // what it did is on record
	if placed, err := q.Place(t.Context(), job("a")); err != nil || !placed {
		t.Fatalf("the job is over, and the run is placed again: %v, %v", placed, err)
	}
	must(t, q.Cancel(t.Context(), "a"))
	if n := ask(t, at, `SELECT count(*)::text FROM river_job WHERE state = 'available'`); n != "0" {
		t.Errorf("%s jobs after it was cancelled", n)
	}
	for i := range trigger.Window + 3 {
		placed, err := q.Place(t.Context(), job(fmt.Sprint("b", i)))
		must(t, err)
		if placed != (i < trigger.Window) {
			t.Errorf("job %d of a key: %v", i, placed)
		}
	}
}

// TestHandedOn: a job that a worker hands back goes to another one at once, and labels lead jobs past workers
// that lack them.
func TestHandedOn(t *testing.T) {
	t.Parallel()
	q := open(t, database(t))
	must(t, q.Prepare(t.Context()))
	labelled := job("gpu")
	labelled.Labels = []string{"gpu"}
	for _, j := range []persistence.Job{labelled, job("a")} {
		if placed, err := q.Place(t.Context(), j); err != nil || !placed {
			t.Fatal(placed, err)
		}
	}
	one := work(t, q, "one", 1, func(persistence.ID) bool { return false })
	if id := one.next(t); id != "a" {
		t.Fatalf("a worker without the label took %s", id)
	}
	must(t, one.stop())
	two := work(t, q, "two", 2, func(persistence.ID) bool { return true }, "default",
		trigger.QueueChannel("default", "", labelled.Labels))
	if got := map[persistence.ID]bool{two.next(t): true, two.next(t): true}; !got["a"] || !got["gpu"] {
		t.Fatalf("the other worker took %v", got)
	}
}

// TestZombie: a worker that wakes after its job was replaced does not complete the job of its successor.
func TestZombie(t *testing.T) {
	t.Parallel()
	at := database(t)
	q := open(t, at)
	must(t, q.Prepare(t.Context()))
	if placed, err := q.Place(t.Context(), job("a")); err != nil || !placed {
		t.Fatal(placed, err)
	}
	frozen, released := make(chan struct{}), make(chan struct{})
	one := work(t, q, "one", 1, func(persistence.ID) bool { <-frozen; return true })
	one.next(t)
	must(t, q.Arrange(t.Context(), func(queued map[persistence.ID]trigger.Ticket) (trigger.QueuePlan, error) {
		if got := queued["a"]; !got.Taken || got.Worker != "one" || got.Since.IsZero() {
			t.Errorf("queued: %v", queued)
		}
		return trigger.QueuePlan{Replace: []persistence.Job{job("a")}}, nil
	}))
	second := open(t, at)
	two := work(t, second, "two", 1, func(persistence.ID) bool { <-released; return true })
	two.next(t)
	close(frozen)
	must(t, one.stop())
	if states := ask(t, at, `SELECT string_agg(state::text, ' ' ORDER BY id) FROM river_job`); states !=
		"discarded running" {
		t.Errorf("after the first worker woke the jobs are %s", states)
	}
	close(released)
	must(t, two.stop())
	if states := ask(t, at, `SELECT string_agg(state::text, ' ' ORDER BY id) FROM river_job`); states !=
		"discarded completed" {
		t.Errorf("at the end the jobs are %s", states)
	}
}

// TestColumns pins what a takeover writes and what is read of the tables of River.
func TestColumns(t *testing.T) {
	t.Parallel()
	at := database(t)
	must(t, open(t, at).Prepare(t.Context()))
	got := ask(t, at,
		`SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attname) FROM pg_attribute
		WHERE attrelid = 'river_job'::regclass AND attname IN ('args', 'attempted_by', 'created_at', 'finalized_at', 'kind', 'queue', 'state')`)
	if want := "args jsonb, attempted_by text[], created_at timestamp with time zone, finalized_at timestamp with " +
		"time zone, kind text, queue text, state river_job_state"; strings.ReplaceAll(got, at, "") != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := ask(t, at,
		`SELECT string_agg(e.enumlabel::text, ' ' ORDER BY e.enumlabel) FROM pg_enum e WHERE e.enumtypid = 'river_job_state'::regtype`); n !=
		"available cancelled completed discarded pending retryable running scheduled" {
		t.Errorf("states: %s", n)
	}
	if got := ask(t, at,
		`SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'river_job'::regclass AND conname = 'finalized_or_finalized_at_null'`); !strings.Contains(
		got, "finalized_at IS NOT NULL") {
		t.Errorf("a discarded job has a time: %s", got)
	}
}

// TestNewerTables: tables that a newer program made are refused with a message, and not changed.
func TestNewerTables(t *testing.T) {
	t.Parallel()
	at := database(t)
	q := open(t, at)
	must(t, q.Prepare(t.Context()))
	exec(t, at, `INSERT INTO river_migration (line, version) VALUES ('main', 99)`)
	err := q.Prepare(t.Context())
	if newer, ok := errors.AsType[*trigger.NewerError](err); !ok || newer.Has != 99 ||
		!strings.Contains(err.Error(), "a newer one made them") {
		t.Errorf("tables of a newer program: %v", err)
	}
}

// TestEmptied: a queue that was emptied is filled again from what is recorded.
func TestEmptied(t *testing.T) {
	t.Parallel()
	at := database(t)
	q := open(t, at)
	must(t, q.Prepare(t.Context()))
	if placed, err := q.Place(t.Context(), job("a")); err != nil || !placed {
		t.Fatal(placed, err)
	}
	exec(t, at, `TRUNCATE river_job`)
	must(t, q.Arrange(t.Context(), func(queued map[persistence.ID]trigger.Ticket) (trigger.QueuePlan, error) {
		if len(queued) != 0 {
			t.Errorf("queued: %v", queued)
		}
		return trigger.QueuePlan{Place: []persistence.Job{job("a"), job("b")}}, nil
	}))
	w := work(t, q, "one", 2, func(persistence.ID) bool { return true })
	if got := map[persistence.ID]bool{w.next(t): true, w.next(t): true}; !got["a"] || !got["b"] {
		t.Errorf("took %v", got)
	}
}

// TestSQLiteHasNoQueue says what workers need.
func TestSQLiteHasNoQueue(t *testing.T) {
	t.Parallel()
	if _, err := trigger.OpenRiver(t.Context(), "sqlite:x.db"); !errors.Is(err, persistence.ErrNoWorkers) {
		t.Errorf("%v", err)
	}
}
