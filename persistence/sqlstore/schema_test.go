package sqlstore_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/persistence"
	"loops/persistence/sqlstore"
)

func TestLocations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "text"), []byte(strings.Repeat("no database ", 100)), 0o644))
	for _, c := range []struct{ location, want string }{
		{"", "store : there is no scheme; expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{"runs.db", "store runs.db: there is no scheme; expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{
			"mysql://root:secret@here/x",
			`store mysql://root:xxxxx@here/x: the scheme "mysql" is unknown; expected sqlite:PATH or postgres://USER@HOST/NAME`,
		},
		{"sqlite:", "store sqlite:: there is no path; expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{"sqlite:x?lease=never", "store sqlite:x?lease=never: lease=never is no duration of at least 100ms, such as " +
			"30s; expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{"sqlite:x?lease=1ms", "store sqlite:x?lease=1ms: lease=1ms is no duration of at least 100ms, such as 30s; " +
			"expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{"sqlite:x?durability=some", "store sqlite:x?durability=some: durability=some is neither strict, grouped " +
			"nor none; expected sqlite:PATH or postgres://USER@HOST/NAME"},
		{"sqlite:x?mode=ro", "store sqlite:x?mode=ro: the parameter mode is unknown; expected sqlite:PATH or " +
			"postgres://USER@HOST/NAME"},
		{"sqlite:" + dir, "open " + dir + ": not a regular file"},
		{"sqlite:" + dir + "/text", dir + "/text: damaged: file is not a database (26)"},
		{"postgres://me:secret@[::1", "store postgres://me:xxxxx@[::1: it is no URL; expected sqlite:PATH or " +
			"postgres://USER@HOST/NAME"},
	} {
		_, err := sqlstore.Open(t.Context(), c.location)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", c.location, err, c.want)
		}
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := sqlstore.Open(t.Context(), "postgres://me:secret@/runs?host="+dir)
	if err == nil ||
		!strings.HasPrefix(err.Error(), "postgres:///runs: failed to connect to `user=me database=runs`") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("error is %v", err)
	}
}

// TestFile: the database and the folder it is in are made, for their owner alone.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "%41 b#c", "runs.db")
	s := open(t, "sqlite:"+path)
	j := create(t, s, elsewhere)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		st, err := os.Stat(path + suffix)
		must(t, err)
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path+suffix, st.Mode())
		}
	}
	must(t, j.Close(t.Context()))
	must(t, s.Close())
	again := opened(t, "sqlite:"+path)
	if n := whole(t, again, j.Run().ID); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		s := opened(t, at)
		_, err := s.Exec(t.Context(), `INSERT INTO schema_migrations (version, applied_at) VALUES (99, 0)`)
		must(t, err)
		_, err = sqlstore.Open(t.Context(), at)
		newer, ok := errors.AsType[*sqlstore.VersionError](err)
		if !ok || newer.Has != 99 ||
			err.Error() != s.Name()+" has version 99, and this program knows versions up to 7: it was made by a "+
				"newer one, use that" {
			t.Errorf("error is %v", err)
		}
	})
}

// TestForeignDatabase: tables of another program are left alone.
func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		for _, tables := range [][]string{
			{`CREATE TABLE events (x text)`},
			{`CREATE TABLE schema_migrations (version text)`},
			{`CREATE TABLE runs (x text)`, `CREATE TABLE schema_migrations (version text)`},
		} {
			at := location(t)
			s := opened(t, at)
			for _, table := range []string{
				"schema_migrations", "runs", "leases", "events", "memory", "texts",
				"definitions",
			} {
				_, err := s.Exec(t.Context(), `DROP TABLE `+table)
				must(t, err)
			}
			for _, text := range tables {
				_, err := s.Exec(t.Context(), text)
				must(t, err)
			}
			_, err := sqlstore.Open(t.Context(), at)
			if err == nil ||
				err.Error() != s.Name()+": it holds tables of another program; give runs a database of their own" {
				t.Errorf("%q: error is %v", tables, err)
			}
		}
	})
}

// TestOpenWhileMade: two that begin at the same moment with a database that is not there yet both get it. The second
// one failed at once, as if a process did not release its lock, while the first had only begun to make the database.
func TestOpenWhileMade(t *testing.T) {
	t.Parallel()
	at := dialects[0].location(t)
	first, err := sql.Open("sqlite", strings.TrimPrefix(at, "sqlite:"))
	must(t, err)
	defer first.Close()
	c, err := first.Conn(t.Context())
	must(t, err)
	defer c.Close()
	_, err = c.ExecContext(t.Context(), `BEGIN IMMEDIATE`) // not in WAL: there SQLite does not wait for it
	must(t, err)
	second := make(chan error, 1)
	go func() {
		s, err := sqlstore.Open(t.Context(), at)
		if err == nil {
			err = s.Close()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("the second did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // enough for it to try
	}
	_, err = c.ExecContext(t.Context(), `ROLLBACK`)
	must(t, err)
	must(t, <-second)
}

// TestOpenAtOnce: of several that find an empty database one makes the tables.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := sqlstore.Open(t.Context(), at)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var n int
		must(t, opened(t, at).Ask(t.Context(), &n, `SELECT count(*) - count(DISTINCT version) FROM schema_migrations`))
		if n != 0 {
			t.Errorf("%d migrations were done twice", n)
		}
	})
}

// TestFullDisk: SQLite says that there is no room, and so does the store; what was recorded stays.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := opened(t, dialects[0].location(t))
	j := create(t, s, elsewhere)
	var pages int
	must(t, s.Ask(t.Context(), &pages, `PRAGMA page_count`))
	must(t, s.Limit(t.Context(), pages+5))
	var err error
	n := 2
	for ; n < 1000 && err == nil; n++ {
		err = j.Record(t.Context(), step(n))
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("error is %v", err)
	}
	must(t, j.Close(t.Context()))
	must(t, s.Limit(t.Context(), 1<<30))
	if got := whole(t, s, j.Run().ID); got != 2*(n-2) {
		t.Errorf("%d events, want %d", got, 2*(n-2))
	}
	k, m, err := s.Resume(t.Context(), j.Run().ID, spec(elsewhere))
	must(t, err)
	must(t, k.Record(t.Context(), step(m.Step+1)))
	must(t, k.Close(t.Context()))
}

// TestBusy: a process that hangs in a transaction is waited for, and then reported.
func TestBusy(t *testing.T) {
	t.Parallel()
	at := dialects[0].location(t)
	s := opened(t, at)
	other, err := sql.Open("sqlite", strings.TrimPrefix(at, "sqlite:"))
	must(t, err)
	defer other.Close()
	_, err = other.Exec(`BEGIN IMMEDIATE`)
	must(t, err)
	must(t, s.Patience(t.Context(), 50))
	if _, err := s.Create(t.Context(), spec(elsewhere)); !errors.Is(err, persistence.ErrBusy) {
		t.Errorf("error is %v, want ErrBusy", err)
	}
	_, err = other.Exec(`ROLLBACK`)
	must(t, err)
	j := create(t, s, elsewhere)
	must(t, j.Close(t.Context()))
}
