package persistence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/internal/disk"
)

func newQueue(t *testing.T) *Queue {
	t.Helper()
	return ProjectQueue(filepath.Join(t.TempDir(), ".loops"))
}

func join(t *testing.T, q *Queue, loop string, scope ...string) *Place {
	t.Helper()
	p, err := q.Join(t.Context(), Waiter{Loop: loop, Scope: scope, Owner: Owner{PID: os.Getpid()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Leave() })
	return p
}

// inLine names the loops of the waiters, in their order.
func inLine(t *testing.T, q *Queue) string {
	t.Helper()
	line, err := q.Waiters()
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(line))
	for i, w := range line {
		names[i] = w.Loop
	}
	return strings.Join(names, " ")
}

func behind(p *Place, shared ...string) string {
	w, n := p.Behind(shared)
	if w == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", w.Loop, n)
}

// Those with overlapping scopes go in the order in which they came; others do not wait for one another.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if got := inLine(t, q); got != "" {
		t.Errorf("nobody has come, and %q wait", got)
	}
	a, b, c, d := join(t, q, "a", "/p/src"), join(t, q, "b", "/p/doc"), join(t, q, "c", "/p"),
		join(t, q, "d", "/p/src/x")
	if got := inLine(t, q); got != "a b c d" {
		t.Errorf("line: %q", got)
	}
	for _, x := range []struct {
		p    *Place
		want string
	}{{a, ""}, {b, ""}, {c, "b 2"}, {d, "c 2"}} {
		if got := behind(x.p); got != x.want {
			t.Errorf("%s is behind %q, want %q", x.p.w.Loop, got, x.want)
		}
	}
	if err := a.Leave(); err != nil {
		t.Error(err)
	}
	if got := behind(c) + ", " + behind(d); got != "b 2, c 2" {
		t.Errorf("without a, c and d are behind %q", got)
	}
	if err := errors.Join(b.Leave(), a.Leave()); err != nil {
		t.Error(err)
	}
	if got := behind(c) + ", " + behind(d); got != ", c 2" {
		t.Errorf("without a and b, c and d are behind %q", got)
	}
	if left := join(t, q, "e", "/q"); behind(left) != "" {
		t.Error("a scope of its own waits")
	}
}

func TestBlocking(t *testing.T) {
	t.Parallel()
	at := func(n int, loop string, scope ...string) Waiter {
		return Waiter{ID: loop, Loop: loop, Since: time.Unix(int64(n), 0), Scope: scope}
	}
	single := func(w Waiter, loop string) Waiter {
		w.Loop, w.Singleton = loop, true
		return w
	}
	newcomer := func(scope ...string) Waiter { return Waiter{Loop: "w", Scope: scope} }
	for _, c := range []struct {
		name   string
		w      Waiter
		line   []Waiter
		shared []string
		want   string
	}{
		{"nobody", newcomer("/a"), nil, nil, ""},
		{
			"only those that overlap", newcomer("/a"),
			[]Waiter{at(1, "x", "/b"), at(2, "y", "/a/1"), at(3, "z", "/")},
			nil, "y z",
		},
		{
			"only those before", at(2, "w", "/a"),
			[]Waiter{at(1, "x", "/a"), at(2, "w", "/a"), at(3, "z", "/a")},
			nil,
			"x",
		},
		{"who has no scope waits for nobody", newcomer(), []Waiter{at(1, "x", "/")}, nil, ""},
		{
			"singletons of one loop", single(newcomer("/a"), "s"),
			[]Waiter{single(at(1, "x", "/b"), "s"), single(at(2, "y", "/b"), "other"), at(3, "s", "/b")},
			nil, "x",
		},
		{"who waits for a run around it", newcomer("/a/1"), []Waiter{at(1, "x", "/a")}, []string{"/a"}, ""},
		{
			"who waits for one that does", newcomer("/a", "/b"),
			[]Waiter{at(1, "x", "/a", "/b"), at(2, "y", "/b"), at(3, "z", "/a/2")},
			[]string{"/a"},
			"",
		},
		{
			"who waits for another run all the same", newcomer("/a", "/b"),
			[]Waiter{at(1, "x", "/b"), at(2, "y", "/a")},
			[]string{"/a"},
			"x",
		},
	} {
		var got []string
		for _, x := range Blocking(c.w, c.line, c.shared) {
			got = append(got, x.ID)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: behind %q, want %q", c.name, s, c.want)
		}
	}
}

func TestCircle(t *testing.T) {
	t.Parallel()
	inside := func(id string, o Obstacle, runs ...ID) Waiter { return Waiter{ID: id, For: o, Inside: runs} }
	run := func(id ID) Obstacle { return Obstacle{Run: id} }
	for _, c := range []struct {
		name string
		w    Waiter // in P, but for where it says otherwise
		line []Waiter
		want bool
	}{
		{"nobody else", inside("w", run("H"), "P"), nil, false},
		{"the other run waits for its own", inside("w", run("H"), "P"), []Waiter{inside("x", run("P"), "H")}, true},
		{"it waits for a third", inside("w", run("H"), "P"), []Waiter{inside("x", run("I"), "H")}, false},
		{
			"a third waits, too", inside("w", run("H"), "P"),
			[]Waiter{inside("y", run("P"), "I"), inside("x", run("I"), "H")},
			true,
		},
		{
			"behind a waiter who waits for its own", inside("w", Obstacle{Waiter: "x"}, "P"),
			[]Waiter{inside("x", run("P"))},
			true,
		},
		{
			"behind a waiter behind one", inside("w", Obstacle{Waiter: "x"}, "P"),
			[]Waiter{inside("v", run("P")), inside("x", Obstacle{Waiter: "v"})},
			true,
		},
		{
			"behind a waiter who waits for another", inside("w", Obstacle{Waiter: "x"}, "P"),
			[]Waiter{inside("x", run("H")), inside("z", run("P"))},
			false,
		},
		{"in no run", inside("w", run("H")), []Waiter{inside("x", run("P"), "H")}, false},
		{"the outer of two", inside("w", run("H"), "P", "Q"), []Waiter{inside("x", run("P"), "G", "H")}, true},
	} {
		line := append([]Waiter{c.w}, c.line...)
		if got := Circle(c.w, c.w.For, line); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// However many come at once, and whatever the clock says, there is one order.
func TestQueueOrderOfMany(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	first := join(t, q, "first", "/")
	early := q.path("00000000-0000-4000-8000-000000000000")
	ahead := time.Now().Add(time.Hour).UTC().Format(queueTime)
	entry := fmt.Sprintf(
		`{"id": "x", "loopName": "ahead", "enqueuedAt": %q, "context": {"waitingFor": "y", "scope": ["/"], "pid": %d}}`,
		ahead, os.Getpid())
	if err := os.WriteFile(early, []byte(entry), 0o644); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var places []*Place
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 12 {
				p, err := q.Join(context.Background(),
					Waiter{Loop: "many", Scope: []string{"/"}, Owner: Owner{PID: os.Getpid()}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				places = append(places, p)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(places, func(a, b *Place) int { return a.w.Since.Compare(b.w.Since) })
	for i, p := range places {
		if i > 0 && !p.w.Since.After(places[i-1].w.Since) {
			t.Errorf("two came at %v", p.w.Since)
		}
		if w, n := p.Behind(nil); w == nil || n != i+2 {
			t.Errorf("number %d is behind %d", i, n)
		}
	}
	last := places[len(places)-1]
	for _, p := range places[:len(places)-1] {
		wants(t, p.Leave())
	}
	if got := behind(last); got != "ahead 2" {
		t.Errorf("the last is behind %q", got)
	}
	wants(t, first.Leave())
	wants(t, os.Remove(early))
	if got := behind(last) + inLine(t, q); got != "many" {
		t.Errorf("line: %q", got)
	}
}

// A waiter that is removed finds out, also while it records what it waits for; and it never begins while the one that
// removed it believes that it does not.
func TestQueueRemove(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	a, b := join(t, q, "a", "/"), join(t, q, "b", "/")
	wants(t, a.Tell(t.Context(), Obstacle{Loop: "x", Path: "/", Run: "x-1"}, ""))
	wants(t, q.Remove(t.Context(), a.w.ID))
	if a.Kept() || !b.Kept() || inLine(t, q) != "b" || behind(b) != "" {
		t.Errorf("a kept %v, b kept %v, line %q, b behind %q", a.Kept(), b.Kept(), inLine(t, q), behind(b))
	}
	if err := a.Tell(t.Context(), Obstacle{Loop: "y"}, ""); !errors.Is(err, ErrNotWaiting) || inLine(t, q) != "b" {
		t.Errorf("told again: %v, line %q", err, inLine(t, q))
	}
	if err := a.Leave(); !errors.Is(err, ErrNotWaiting) {
		t.Errorf("left: %v", err)
	}
	if err := q.Remove(t.Context(), a.w.ID); !errors.Is(err, ErrNotWaiting) {
		t.Errorf("removed again: %v", err)
	}
	wants(t, b.Leave())
	if err := q.Remove(t.Context(), b.w.ID); !errors.Is(err, ErrNotWaiting) {
		t.Errorf("removed after it left: %v", err)
	}
	for range 50 {
		p := join(t, q, "race", "/")
		var left, removed error
		var wg sync.WaitGroup
		wg.Go(func() { left = p.Leave() })
		wg.Go(func() { removed = q.Remove(context.Background(), p.w.ID) })
		wg.Wait()
		if (left == nil) == (removed == nil) {
			t.Fatalf("leave: %v, remove: %v", left, removed)
		}
	}
}

// What is seen of a waiter is whole at every moment, and it is never taken for dead while it rewrites its entry.
func TestQueueTell(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := join(t, q, "a", "/p")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := p.Tell(context.Background(), Obstacle{Loop: "x", Run: ID(fmt.Sprint("x-", n)), Path: "/p"},
				""); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 300 {
		if got := inLine(t, q); got != "a" {
			t.Errorf("line: %q", got)
			break
		}
	}
	close(stop)
	<-done
	since := time.Date(2026, 11, 21, 9, 11, 9, 966736000, time.UTC)
	wants(t, p.Tell(t.Context(), Obstacle{Loop: "x", Run: "x-1", Path: "/p", Since: since}, "/log"))
	line, err := q.Waiters()
	if err != nil || len(line) != 1 {
		t.Fatalf("%v, %v", line, err)
	}
	w := line[0]
	if w.For != (Obstacle{Loop: "x", Run: "x-1", Path: "/p", Since: since}) || w.Log != "/log" || w.Foreign ||
		!slices.Equal(w.Scope, []string{"/p"}) || w.Owner.PID != os.Getpid() {
		t.Errorf("read back: %+v", w)
	}
	b, err := os.ReadFile(q.path(w.ID))
	wants(t, err)
	text := regexp.MustCompile(`"pid": \d+`).ReplaceAllString(strings.ReplaceAll(string(b), w.ID, "ID"), `"pid": 1`)
	text = strings.ReplaceAll(text, w.Since.Format(queueTime), "SINCE")
	if want := `{
  "id": "ID",
  "loopName": "a",
  "enqueuedAt": "SINCE",
  "context": {
    "waitingFor": "x",
    "scope": [
      "/p"
    ],
    "pid": 1
  },
  "loops": {
    "scope": [
      "/p"
    ],
    "holder": "x-1",
    "other_since": "2026-11-21T09:11:09.966736+00:00",
    "log": "/log"
  }
}
`; text != want {
		t.Errorf("the file has\n%s", text)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(w.ID) {
		t.Errorf("%s is no uuid of version 4", w.ID)
	}
}

// Entries of little-loops count while their process lives. What cannot be read says nothing.
func TestQueueOfTheReferenceTool(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	wants(t, os.MkdirAll(q.dir, 0o755))
	entry := func(id, loop, at string, pid int) {
		text := fmt.Sprintf("{\n  \"id\": %q,\n  \"loopName\": %q,\n  \"enqueuedAt\": %q,\n"+
			"  \"context\": {\"waitingFor\": \"sleeper\", \"scope\": [\"/p\"], \"pid\": %d}\n}", id, loop, at, pid)
		wants(t, os.WriteFile(q.path(id), []byte(text), 0o644))
	}
	const gone = 1 << 30
	entry("1", "theirs", "2026-11-21T09:11:09.966736+00:00", os.Getpid())
	entry("2", "dead", "2026-11-21T09:11:08+00:00", gone)
	entry("3", "nobody", "2026-11-21T09:11:08+00:00", 0)
	entry("4", "timeless", "yesterday", os.Getpid())
	wants(t, os.WriteFile(q.path("5"), []byte(`{"id": "5", "loopN`), 0o644))
	wants(t, os.Mkdir(q.path("6"), 0o755))
	old := time.Now().Add(-2 * queueLogs)
	for _, name := range []string{".7.json.tmp", "8.log", "9.log", "1.log"} {
		wants(t, os.WriteFile(filepath.Join(q.dir, name), nil, 0o644))
		if name != "9.log" {
			wants(t, os.Chtimes(filepath.Join(q.dir, name), old, old))
		}
	}
	line, err := q.Waiters()
	if err != nil || len(line) != 1 || line[0].ID != "1" || !line[0].Foreign || line[0].For.Loop != "sleeper" ||
		line[0].Owner.PID != os.Getpid() {
		t.Fatalf("%+v, %v", line, err)
	}
	a, b := join(t, q, "a", "/p/src"), join(t, q, "b", "/q")
	if got := behind(a) + ", " + behind(b); got != "theirs 1, " {
		t.Errorf("behind %q", got)
	}
	names, err := disk.Names(q.dir)
	wants(t, err)
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return name == a.w.ID+".json" || name == b.w.ID+".json" })
	if got := strings.Join(names, " "); got != ".lock 1.json 1.log 4.json 5.json 6.json 9.log" {
		t.Errorf("left: %q", got)
	}
	q.Liveness = func(Owner, time.Time) bool { return false } // the pid is another process's
	if got := behind(a); got != "" {
		t.Errorf("behind %q", got)
	}
}

// A queue whose lock is not released does not hang for ever.
func TestQueueLockThatIsNotLetGo(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := join(t, q, "a", "/")
	q.patience = time.Millisecond
	err := q.exclusive(t.Context(), func() error {
		_, err := q.Join(t.Context(), Waiter{Loop: "b"})
		return errors.Join(err, q.Remove(t.Context(), p.w.ID))
	})
	if !errors.Is(err, ErrBusy) || strings.Count(err.Error(), ErrBusy.Error()) != 2 {
		t.Errorf("error is %v, want ErrBusy twice", err)
	}
	wants(t, p.Leave()) // needs no lock
	if err := os.Chmod(q.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(q.dir, 0o755) //nolint:errcheck // for the clean-up of the test
	if _, err := q.Waiters(); err != nil {
		t.Errorf("looking on without the right to write: %v", err)
	}
}

func wants(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
