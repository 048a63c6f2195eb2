package sqlstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
	"loops/persistence/checkpoint"
	"loops/persistence/checkpoint/checkpointtest"
	"loops/persistence/sqlstore"
)

func openCheckpoints(t testing.TB, path string) *sqlstore.Checkpoints {
	t.Helper()
	c, err := sqlstore.OpenCheckpoints(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// A spoilable is what the suite wants of a database: that it can be opened twice, and spoilt.
type spoilable struct {
	*sqlstore.Checkpoints
	t    testing.TB
	path string
}

func (s spoilable) Reopen() (checkpoint.Store, error) { return openCheckpoints(s.t, s.path), nil }

func (s spoilable) Damage(run string, log bool, f func([]byte) []byte) error {
	ctx := context.Background()
	if log {
		return s.damageLog(ctx, run, f)
	}
	const newest = ` FROM checkpoints WHERE run = ? AND damaged = 0 ORDER BY n DESC LIMIT 1`
	var body []byte
	if err := sqlstore.AskCheckpoints(ctx, s.Checkpoints, &body, `SELECT body`+newest, run); err != nil {
		return err
	}
	_, err := sqlstore.ExecCheckpoints(ctx, s.Checkpoints, `UPDATE checkpoints SET body = ? WHERE n = (SELECT n`+
		newest+`)`,
		append([]byte{}, f(body)...), run)
	return err
}

// damageLog spoils the lines of a log, one after the other, and stores what is left as the rows of the events
// they were. A line without its end is a transaction that never ended.
func (s spoilable) damageLog(ctx context.Context, run string, f func([]byte) []byte) error {
	var log, count int64
	err := sqlstore.AskCheckpoints(ctx, s.Checkpoints, &log, `SELECT n FROM checkpoint_logs WHERE run = ?`, run)
	if err == nil {
		err = sqlstore.AskCheckpoints(ctx, s.Checkpoints, &count,
			`SELECT count(*) FROM checkpoint_events WHERE log = ?`, log)
	}
	var lines []byte
	for seq := int64(1); seq <= count && err == nil; seq++ {
		var body []byte
		err = sqlstore.AskCheckpoints(ctx, s.Checkpoints, &body,
			`SELECT body FROM checkpoint_events WHERE log = ? AND seq = ?`, log, seq)
		lines = append(lines, body...)
	}
	if err == nil {
		_, err = sqlstore.ExecCheckpoints(ctx, s.Checkpoints, `DELETE FROM checkpoint_events WHERE log = ?`, log)
	}
	last := uint64(0)
	for line := range bytes.SplitAfterSeq(f(lines), []byte("\n")) {
		if err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		last++
		if e, err := checkpoint.DecodeEvent(line); err == nil {
			last = e.Seq
		}
		_, err = sqlstore.ExecCheckpoints(ctx, s.Checkpoints,
			`INSERT INTO checkpoint_events (log, seq, body) VALUES (?, ?, ?)`, log, int64(last), line)
	}
	if err == nil {
		_, err = sqlstore.ExecCheckpoints(ctx, s.Checkpoints, `UPDATE checkpoint_logs SET last = ? WHERE n = ?`,
			int64(last), log)
	}
	return err
}

// TestCheckpoints is what all stores of checkpoints keep, in a database of their own and in that of runs.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	t.Run("own", func(t *testing.T) {
		checkpointtest.Run(t, func(t *testing.T) checkpoint.Store {
			path := filepath.Join(t.TempDir(), "new", "c.db")
			return spoilable{openCheckpoints(t, path), t, path}
		})
	})
	t.Run("shared", func(t *testing.T) {
		checkpointtest.Run(t, func(t *testing.T) checkpoint.Store {
			path := filepath.Join(t.TempDir(), "runs.db")
			opened(t, "sqlite:"+path)
			return spoilable{openCheckpoints(t, path), t, path}
		})
	})
}

// TestCheckpointsBesideRuns: in either order both find their tables, again too, and the folder is the owner's alone.
func TestCheckpointsBesideRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "both.db")
	c := openCheckpoints(t, path)
	saveIteration(t, c, 1)
	s := opened(t, "sqlite:"+path)
	j := create(t, s, elsewhere)
	must(t, j.Close(t.Context()))
	opened(t, "sqlite:"+path)
	wantIteration(t, openCheckpoints(t, path), 1)
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
}

func saveIteration(t testing.TB, c checkpoint.Store, n int) {
	t.Helper()
	must(t, c.Save(t.Context(), numbered(n)))
}

func numbered(n int) *checkpoint.Checkpoint {
	text, _ := json.Marshal(strings.Repeat(fmt.Sprint(n, " "), 3000)) // more than a page
	return &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}, Iteration: n, Data: text}
}

func wantIteration(t testing.TB, c checkpoint.Store, n int) {
	t.Helper()
	if p, err := c.Load(t.Context(), "r1"); err != nil || p.Iteration != n ||
		string(p.Data) != string(numbered(n).Data) {
		t.Fatalf("want iteration %d: %v, %+v", n, err, p)
	}
}

func TestCheckpointsRefuse(t *testing.T) {
	t.Parallel()
	t.Run("newer", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.db")
		_, err := sqlstore.ExecCheckpoints(t.Context(), openCheckpoints(t, path),
			`INSERT INTO checkpoint_migrations VALUES (99, 0)`)
		must(t, err)
		_, err = sqlstore.OpenCheckpoints(t.Context(), path)
		newer, ok := errors.AsType[*sqlstore.VersionError](err)
		if !ok || newer.Has != 99 ||
			err.Error() != path+" (checkpoints) has version 99, and this program knows versions up to 1: it was "+
				"made by a newer one, use that" {
			t.Errorf("error is %v", err)
		}
		opened(t, "sqlite:"+path) // the tables of runs are not newer
	})
	t.Run("foreign", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.db")
		c := openCheckpoints(t, path)
		for _, text := range []string{`DROP TABLE checkpoint_migrations`, `CREATE TABLE leases (x)`} {
			_, err := sqlstore.ExecCheckpoints(t.Context(), c, text)
			must(t, err)
		}
		_, err := sqlstore.OpenCheckpoints(t.Context(), path)
		if err == nil || err.Error() != path+": it holds tables of another program; give checkpoints a "+
			"database of their own" {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("no database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.db")
		must(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
		_, err := sqlstore.OpenCheckpoints(t.Context(), path)
		if d, ok := errors.AsType[*checkpoint.DamageError](err); !ok || d.File != path {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("folder", func(t *testing.T) {
		path := t.TempDir()
		if _, err := sqlstore.OpenCheckpoints(t.Context(), path); err == nil ||
			err.Error() != "open "+path+": not a regular file" {
			t.Errorf("error is %v", err)
		}
	})
}

// TestCheckpointsDamage: the place of the damage is reported, at most one damaged checkpoint is kept, and events that
// are missing at the end of a log are reported too.
func TestCheckpointsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.db")
	c := openCheckpoints(t, path)
	s := spoilable{c, t, path}
	for n := range 5 {
		saveIteration(t, c, n)
		must(t, s.Damage("r1", false, func(b []byte) []byte { return b[1:] }))
	}
	_, err := c.Load(t.Context(), "r1")
	if want := path + ": damaged: the newest checkpoint of run r1: its checksum does not hold"; err == nil ||
		err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	var rows int
	must(t, sqlstore.AskCheckpoints(t.Context(), c, &rows, `SELECT count(*) FROM checkpoints`))
	if rows != 2 {
		t.Errorf("%d rows of a damaged checkpoint and one that was replaced", rows)
	}
	for n := range 5 {
		saveIteration(t, c, n)
	}
	must(t, sqlstore.AskCheckpoints(t.Context(), c, &rows, `SELECT count(*) FROM checkpoints WHERE damaged = 0`))
	if rows != 2 {
		t.Errorf("%d rows, want two", rows)
	}
	_, err = c.Append(t.Context(), "r1", make([]checkpoint.Event, 5)...)
	must(t, err)
	_, err = sqlstore.ExecCheckpoints(t.Context(), c, `DELETE FROM checkpoint_events WHERE seq IN (1, 2, 4, 5)`)
	must(t, err)
	var told []string
	for e, err := range c.Since(t.Context(), "r1", 0) {
		told = append(told, fmt.Sprint(e.Seq, " ", err))
	}
	want := []string{
		"0 " + path + ": damaged: events 1 to 2 of run r1 are missing", "3 <nil>",
		"0 " + path + ": damaged: events 4 to 5 of run r1 are missing",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told %q, want %q", told, want)
	}
	if n, err := c.Append(t.Context(), "r1", checkpoint.Event{}); err != nil || n != 6 {
		t.Errorf("appended %d, %v", n, err)
	}
}

// TestCheckpointsClearedWhileRead: a reader of a log that is cleared and begun again sees none of the new one.
func TestCheckpointsClearedWhileRead(t *testing.T) {
	t.Parallel()
	c := openCheckpoints(t, filepath.Join(t.TempDir(), "c.db"))
	events := func(kind string) (list []checkpoint.Event) {
		for range 1200 { // more than a page
			list = append(list, checkpoint.Event{Kind: kind})
		}
		return list
	}
	_, err := c.Append(t.Context(), "r1", events("old")...)
	must(t, err)
	n := 0
	for e, err := range c.Since(t.Context(), "r1", 0) {
		must(t, err)
		if n++; n == 1 {
			must(t, c.Clear(t.Context(), "r1"))
			_, err := c.Append(t.Context(), "r1", events("new")...)
			must(t, err)
		}
		if e.Kind != "old" {
			t.Fatalf("event %d of the new log behind %d of the old", e.Seq, n-1)
		}
	}
	if n == 0 || n == 1200 {
		t.Errorf("%d events: not cleared within the log", n)
	}
}

// TestCheckpointsNoRoom: a full disk is reported and changes nothing, and when there is room again all continues.
func TestCheckpointsNoRoom(t *testing.T) {
	t.Parallel()
	c := openCheckpoints(t, filepath.Join(t.TempDir(), "c.db"))
	saveIteration(t, c, 1)
	_, err := c.Append(t.Context(), "r1", checkpoint.Event{})
	must(t, err)
	must(t, sqlstore.LimitCheckpoints(t.Context(), c, 1))
	if err := c.Save(t.Context(), numbered(2)); !errors.Is(err, syscall.ENOSPC) ||
		!strings.HasPrefix(err.Error(), "run r1 cannot be saved: ") {
		t.Errorf("error is %v", err)
	}
	big := checkpoint.Event{Data: json.RawMessage(`"` + strings.Repeat("x", 1<<18) + `"`)}
	must(t, sqlstore.LimitCheckpoints(t.Context(), c, 1)) // the connection is another one
	if _, err := c.Append(t.Context(), "r1", checkpoint.Event{}, big); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %v", err)
	}
	wantIteration(t, c, 1)
	must(t, sqlstore.LimitCheckpoints(t.Context(), c, 1<<20))
	saveIteration(t, c, 2)
	wantIteration(t, c, 2)
	if n, err := c.Append(t.Context(), "r1", big); err != nil || n != 2 {
		t.Errorf("appended %d, %v", n, err)
	}
}

// TestCheckpointsBusy: waiting for a process that holds the lock can be cancelled, and fails in the end.
func TestCheckpointsBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.db")
	c, other := openCheckpoints(t, path), openCheckpoints(t, path)
	sqlstore.WaitCheckpoints(c, time.Nanosecond)
	must(t, sqlstore.HoldCheckpoints(t.Context(), other, func() {
		if err := c.Save(t.Context(), numbered(1)); !errors.Is(err, checkpoint.ErrBusy) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("error is %v", err)
		}
		if _, err := c.Load(t.Context(), "r1"); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("reading waits: %v", err)
		}
		sqlstore.WaitCheckpoints(c, time.Hour)
		why := errors.New("why")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
		defer cancel()
		if err := c.Save(ctx, numbered(1)); !errors.Is(err, why) {
			t.Errorf("error is %v", err)
		}
	}))
	saveIteration(t, c, 1)
}

func TestNilCheckpoints(t *testing.T) {
	t.Parallel()
	var c *sqlstore.Checkpoints
	n, err := c.Append(t.Context(), "r1", checkpoint.Event{})
	list, e := c.ListInterrupted(t.Context())
	if err := errors.Join(err, e, c.Save(t.Context(), numbered(1)), c.Delete(t.Context(), "r1"),
		c.Clear(t.Context(), "r1"), c.Close()); err != nil || n != 0 || len(list) != 0 {
		t.Errorf("%v, %d, %v", err, n, list)
	}
	if _, err := c.Load(t.Context(), "r1"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("load: %v", err)
	}
	for e, err := range c.Since(t.Context(), "r1", 0) {
		t.Errorf("an event: %v, %v", e, err)
	}
}

// checkpointsProcess appends an event and saves, again and again, each acknowledged in a line: as often as its first
// word says. Its second word is the kind of its events.
func checkpointsProcess(t *testing.T, path, _ string, words []string) {
	c := openCheckpoints(t, path)
	times, err := strconv.Atoi(words[0])
	must(t, err)
	for n := 1; n <= times; n++ {
		_, err := c.Append(t.Context(), "r1", checkpoint.Event{Kind: words[1]}, checkpoint.Event{Kind: words[1]})
		must(t, err)
		saveIteration(t, c, n)
		fmt.Println("saved", n)
	}
	fmt.Println("done")
}

// TestCheckpointsOfTwoProcesses: two processes that append to one log at once leave no gap, and each its events.
func TestCheckpointsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const times = 40
	path := filepath.Join(t.TempDir(), "c.db")
	two := []*owner{
		start(t, nil, "checkpoints", path, "", fmt.Sprint(times), "a"),
		start(t, nil, "checkpoints", path, "", fmt.Sprint(times), "b"),
	}
	for _, o := range two {
		o.want("done")
		must(t, o.cmd.Wait())
	}
	kinds, before := map[string]int{}, ""
	for e, err := range openCheckpoints(t, path).Since(t.Context(), "r1", 0) {
		must(t, err)
		kinds[e.Kind]++
		if n := kinds["a"] + kinds["b"]; e.Seq != uint64(n) || n%2 == 0 && e.Kind != before {
			t.Fatalf("event %d is %+v behind a %s", n, e, before)
		}
		before = e.Kind
	}
	if kinds["a"] != 2*times || kinds["b"] != 2*times {
		t.Errorf("events %v, want %d of each", kinds, 2*times)
	}
}

// TestCheckpointsKilled: killed at any moment, what was acknowledged is there, whole, and the next process continues.
func TestCheckpointsKilled(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := filepath.Join(t.TempDir(), "c.db")
		o := start(t, nil, "checkpoints", path, "", "100000", "e")
		acked := 0
		for last := 1 + rand.IntN(40); acked < last; acked++ {
			o.want("saved")
		}
		must(t, o.cmd.Process.Kill())
		for { // what it said before it was killed; Wait would close the pipe with what is still in it
			if _, ok := o.line("saved"); !ok {
				break
			}
			acked++
		}
		_ = o.cmd.Wait()
		c := openCheckpoints(t, path)
		p, err := c.Load(t.Context(), "r1")
		if err != nil || p.Iteration < acked || p.Iteration > acked+1 {
			t.Fatalf("acknowledged %d, %v, there is %+v", acked, err, p)
		}
		wantIteration(t, c, p.Iteration)
		n := 0
		for e, err := range c.Since(t.Context(), "r1", 0) {
			if n++; err != nil || e.Seq != uint64(n) {
				t.Fatalf("event %d: %v, %+v", n, err, e)
			}
		}
		if n != 2*p.Iteration && n != 2*p.Iteration+2 {
			t.Fatalf("iteration %d and %d events", p.Iteration, n)
		}
		if last, err := c.Append(t.Context(), "r1", checkpoint.Event{}); err != nil || last != uint64(n)+1 {
			t.Fatalf("%v, appended %d behind %d", err, last, n)
		}
		saveIteration(t, c, acked+2)
		wantIteration(t, c, acked+2)
	}
}

// TestCheckpointsSyncs: every save and every append is synced once.
func TestCheckpointsSyncs(t *testing.T) {
	t.Parallel()
	strace := testenv.Command(t, "strace")
	count := func(times int) int {
		log := filepath.Join(t.TempDir(), "calls")
		o := start(t, []string{strace, "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", log}, "checkpoints",
			filepath.Join(t.TempDir(), "c.db"), "", fmt.Sprint(times), "e")
		o.want("done")
		must(t, o.cmd.Wait())
		b, err := os.ReadFile(log)
		must(t, err)
		return strings.Count(string(b), "sync(")
	}
	if n := count(21) - count(1); n < 40 || n > 46 { // the log is full once or twice
		t.Errorf("20 saves and 20 appends sync %d times", n)
	}
}
