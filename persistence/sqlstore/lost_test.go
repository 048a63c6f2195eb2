package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

// A wire is between a store and its server, and breaks: what it carries to the server can hold a word, and then the
// connection is cut before the server got it, or before its answer got back. Each word works once.
type wire struct {
	dir    string // holds the socket
	server string // address of the real one
	listen net.Listener

	mu    sync.Mutex
	conns map[net.Conn]bool
	used  map[string]bool
	end   string // cutRequest or cutAnswer: what happens to the next COMMIT, once; "" = nothing
	down  bool
	wg    sync.WaitGroup
}

const cutRequest, cutAnswer = "cut-request-", "cut-answer-"

func newWire(t *testing.T, s *testenv.PostgresServer) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "loops-wire-")
	must(t, err)
	socket := fmt.Sprintf(".s.PGSQL.%d", s.Port)
	w := &wire{dir: dir, server: filepath.Join(s.Dir, socket), conns: map[net.Conn]bool{}, used: map[string]bool{}}
	w.listen, err = net.Listen("unix", filepath.Join(dir, socket))
	must(t, err)
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		w.listen.Close()
		w.cut()
		w.wg.Wait()
		os.RemoveAll(dir)
	})
	return w
}

func (w *wire) accept() {
	for {
		c, err := w.listen.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("unix", w.server)
		w.mu.Lock()
		if err != nil || w.down {
			c.Close()
			if err == nil {
				s.Close()
			}
			w.mu.Unlock()
			continue
		}
		w.conns[c], w.conns[s] = true, true
		w.mu.Unlock()
		var deaf sync.Mutex // held to let no more answers through
		w.wg.Go(func() {
			defer c.Close()
			defer s.Close()
			b := make([]byte, 1<<20)
			for {
				n, err := c.Read(b)
				if err != nil || w.says(b[:n], cutRequest) {
					return
				}
				if w.says(b[:n], cutAnswer) {
					deaf.Lock()
					_, _ = s.Write(b[:n])
					time.Sleep(200 * time.Millisecond) // it is done by then, or the store waits for it
					return
				}
				if _, err := s.Write(b[:n]); err != nil {
					return
				}
			}
		})
		w.wg.Go(func() {
			defer c.Close()
			defer s.Close()
			b := make([]byte, 1<<20)
			for {
				n, err := s.Read(b)
				if err != nil || !deaf.TryLock() {
					return
				}
				_, err = c.Write(b[:n])
				deaf.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
}

// says looks for a word that was not used yet.
func (w *wire) says(b []byte, word string) bool {
	if w.ends(b, word) {
		return true
	}
	i := bytes.Index(b, []byte(word))
	if i < 0 {
		return false
	}
	end := bytes.IndexByte(b[i:], '"')
	w.mu.Lock()
	defer w.mu.Unlock()
	key := string(b[i : i+end])
	if w.used[key] {
		return false
	}
	w.used[key] = true
	return true
}

// ends reports whether b is the COMMIT to which that is to happen.
func (w *wire) ends(b []byte, how string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != how || !bytes.Contains(b, []byte("Q\x00\x00\x00\x0bcommit\x00")) {
		return false
	}
	w.end = ""
	return true
}

// cut ends all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
	clear(w.conns)
}

// refuse ends all connections and takes no new ones, or takes them again.
func (w *wire) refuse(down bool) {
	w.mu.Lock()
	w.down = down
	w.mu.Unlock()
	if down {
		w.cut()
	}
}

func (w *wire) location(schema, params string) string {
	return with(fmt.Sprintf("postgres://loops@/postgres?host=%s&search_path=%s", w.dir, schema), params)
}

func theServer(t *testing.T) *testenv.PostgresServer {
	t.Helper()
	postgres(t) // skips where there is none
	s, err := server()
	must(t, err)
	return s
}

// TestConnectionLost: every save whose request or answer was lost is recorded once.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	w := newWire(t, theServer(t))
	s := opened(t, w.location("lost", ""))
	j := create(t, s, elsewhere)
	n, big := 1, strings.Repeat("0123456789abcdef", 8<<10)
	for i := range 12 {
		for _, word := range []string{cutRequest, cutAnswer} {
			n++
			b := step(n)
			b.Checkpoint = i%2 == 0
			b.Events[0].Fields = append(b.Events[0].Fields, fsm.Field{Key: "word", Value: word + strconv.Itoa(i)})
			if i%3 == 0 {
				b.Snapshot.Captured = value.NewMap("big", value.NewMap("output", fmt.Sprint(n, big)))
			}
			must(t, j.Record(t.Context(), b))
		}
	}
	if len(w.used) != 24 {
		t.Errorf("the connection was lost %d times, want 24", len(w.used))
	}
	must(t, j.Record(t.Context(), step(n+1)))
	if got := whole(t, s, j.Run().ID); got != 2*(n+1) {
		t.Errorf("%d events, want %d", got, 2*(n+1))
	}
	must(t, j.Close(t.Context()))
}

// TestLostAndTakenOver: a save whose answer was lost, of a run that another process took over meanwhile.
func TestLostAndTakenOver(t *testing.T) {
	t.Parallel()
	w := newWire(t, theServer(t))
	s := opened(t, w.location("taken", ""))
	direct := opened(t, theServer(t).URL("taken"))
	j := create(t, s, elsewhere)
	w.refuse(true)
	done := make(chan error)
	go func() { done <- j.Record(context.Background(), step(2)) }()
	expire(t, direct)
	k, _, err := direct.Resume(t.Context(), j.Run().ID, spec(self(t)))
	must(t, err)
	must(t, k.Record(t.Context(), step(2)))
	w.refuse(false)
	if err := <-done; !errors.Is(err, persistence.ErrFenced) {
		t.Errorf("error is %v, want ErrFenced", err)
	}
	must(t, j.Close(t.Context()))
	must(t, k.Close(t.Context()))
	if n := whole(t, direct, k.Run().ID); n != 4 {
		t.Errorf("%d events, want 4", n)
	}
}

// TestUnreachable: a database that does not come back is reported after the length of the lease.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWire(t, theServer(t))
	s := opened(t, w.location("gone", "lease=12s"))
	j := create(t, s, elsewhere)
	w.refuse(true)
	err := j.Record(t.Context(), step(2))
	if err == nil || errors.Is(err, persistence.ErrFenced) ||
		!strings.Contains(err.Error(), "did not take it for 12s") {
		t.Errorf("error is %v", err)
	}
	waitLost(t, j)
	if again := j.Record(t.Context(), step(3)); again != err {
		t.Errorf("error is %v, want the first one", again)
	}
	if err := j.Close(t.Context()); err == nil {
		t.Error("it could let go of the run")
	}
	w.refuse(false)
	direct := opened(t, theServer(t).URL("gone"))
	m, err := direct.Snapshot(t.Context(), j.Run().ID)
	must(t, err)
	if n := whole(t, direct, j.Run().ID); n != 2*m.Step {
		t.Errorf("%d events, step %d", n, m.Step)
	}
}

// TestPassing: a run that cannot begin because the database is away may try again, and one that is refused may not.
func TestPassing(t *testing.T) {
	t.Parallel()
	w := newWire(t, theServer(t))
	s := opened(t, w.location("passing", ""))
	spec := persistence.Spec{Loop: "x", Scope: []string{"/p"}, Owner: elsewhere}
	w.refuse(true)
	if _, err := s.Create(t.Context(), spec); !s.Passing(err) {
		t.Errorf("the database is away: %v does not pass", err)
	}
	w.refuse(false)
	if !s.Passing(fmt.Errorf("begin: %w", pgconn.ErrConnClosed)) { // the connection broke before it was used
		t.Error("a closed connection does not pass")
	}
	j, err := s.Create(t.Context(), spec)
	must(t, err)
	defer j.Close(t.Context()) //nolint:errcheck // the test is over
	for _, refused := range []persistence.Spec{spec, {Loop: strings.Repeat("x", 300), Owner: elsewhere}} {
		if _, err := s.Create(t.Context(), refused); err == nil || s.Passing(err) {
			t.Errorf("%v passes", err)
		}
	}
	if _, err := s.Snapshot(t.Context(), "x-1"); s.Passing(err) {
		t.Errorf("%v passes", err)
	}
}

// TestServerForgets: what the server lost when it crashed, because it was not durable, is recorded again. The journal
// does not make it durable in time, and the server's process that would write it to the log in the background is held:
// so all of it is lost, however slow the machine is.
func TestServerForgets(t *testing.T) {
	t.Parallel()
	theServer(t)
	own, err := testenv.StartPostgres(t.Context(), "autovacuum = off", "bgwriter_lru_maxpages = 0",
		"checkpoint_timeout = 1d", "wal_buffers = 16MB")
	must(t, err)
	remove(t, own)
	s := opened(t, with(own.URL(""), "lease=10m")) // however long the server takes to start
	j := create(t, s, elsewhere)
	n, direct := 1, s
	for range 3 {
		const loose = 3 // a fourth would be more than may be saved and not be durable
		holdLog(t, direct)
		sqlstore.Postpone(j)
		for range loose {
			n++
			b := step(n)
			b.Checkpoint = false
			big := strings.Repeat(string(rune('a'+n%26)), 1<<20) // is saved at once
			b.Events[0].Fields = append(b.Events[0].Fields, fsm.Field{Key: "big", Value: big})
			must(t, j.Record(t.Context(), b))
		}
		if got := whole(t, direct, j.Run().ID); got != 2*n {
			t.Errorf("before the crash there are %d events, want %d", got, 2*n)
		}
		must(t, own.Kill())
		must(t, own.Launch(t.Context()))
		direct = opened(t, own.URL(""))
		if got := whole(t, direct, j.Run().ID); got != 2*(n-loose) {
			t.Errorf("after the crash there are %d events, want the %d that were durable", got, 2*(n-loose))
		}
		n++
		must(t, j.Record(t.Context(), step(n)))
		if got := whole(t, direct, j.Run().ID); got != 2*n {
			t.Errorf("%d events, want %d", got, 2*n)
		}
	}
	must(t, j.Close(t.Context()))
}

// holdLog stops the server's process that writes the log in the background, until the server is killed.
func holdLog(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	var pid int
	must(t, s.Ask(t.Context(), &pid, `SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`))
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
}

// TestServerDies: a run continues over the death of the server, as soon as it is there again.
func TestServerDies(t *testing.T) {
	t.Parallel()
	theServer(t)
	own, err := testenv.StartPostgres(t.Context())
	must(t, err)
	remove(t, own)
	s := opened(t, with(own.URL(""), "lease=10m")) // however long the server takes to start
	j := create(t, s, elsewhere)
	n := 1
	for range 2 {
		first, stop, died := n, make(chan struct{}), make(chan error, 1)
		enough := make(chan struct{}) // closed when some steps are on record
		go func() {
			<-enough
			err := own.Kill()
			if err == nil {
				err = own.Launch(context.Background())
			}
			died <- err
			close(stop)
		}()
		for more := 20; more > 0; {
			n++
			b := step(n)
			b.Checkpoint = n%2 == 0
			must(t, j.Record(t.Context(), b))
			if n == first+20 {
				close(enough)
			}
			select {
			case <-stop:
				more--
			default:
			}
		}
		must(t, <-died)
	}
	must(t, j.Record(t.Context(), step(n+1)))
	must(t, j.Close(t.Context()))
	if got := whole(t, s, j.Run().ID); got != 2*(n+1) {
		t.Errorf("%d events, want %d", got, 2*(n+1))
	}
	t.Logf("%d steps", n)
}
