package dirstore

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// syncs counts what is made durable, by the ends of the names.
type syncs struct {
	mu   sync.Mutex
	n    map[string]int
	fail error
}

func count(d *Store) *syncs {
	s := &syncs{n: make(map[string]int)}
	d.synced = func(path string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		name := filepath.Base(path)
		if i := strings.LastIndex(name, ".events"); i >= 0 {
			name = name[i+1:]
		}
		s.n[name]++
		return s.fail
	}
	return s
}

// take returns how often the event file was made durable since the last call.
func (s *syncs) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.n["events.jsonl"]
	clear(s.n)
	return n
}

func (s *syncs) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func batch(snapshot, checkpoint bool, kinds ...string) *fsm.Batch {
	b := &fsm.Batch{Checkpoint: checkpoint}
	for _, k := range kinds {
		b.Events = append(b.Events, fsm.Event{Kind: k, Time: at})
	}
	if snapshot {
		b.Snapshot = step(2).Snapshot
	}
	return b
}

// Results of items are written by Record, and all that gathered is durable when Sync returns; an error of Sync
// ends the run.
func TestSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		s := count(d)
		j := begin(t, d, step(1))
		s.take()
		item := batch(false, false, fsm.EventItemEnd, fsm.EventItemStart)
		item.Written = true
		for range 3 {
			if err := j.Record(t.Context(), item); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.take(); n != 0 {
			t.Errorf("synced %d times before Sync", n)
		}
		if err := j.Sync(t.Context()); err != nil || s.take() != 1 {
			t.Errorf("not synced once: %v", err)
		}
		s.failWith(errors.New("no more"))
		if err := j.Sync(t.Context()); err == nil {
			t.Error("the error of Sync is lost")
		}
		if err := j.Record(t.Context(), item); err == nil {
			t.Error("recorded after an error of Sync")
		}
		s.failWith(nil)
		_ = j.Close(t.Context())
	})
}

// What is durable when Record returns, and what 50 ms later.
func TestDurability(t *testing.T) {
	t.Parallel()
	decision := batch(true, false, "evaluate", "route", "state_enter")
	start := batch(true, true, "route", "state_enter", "action_start")
	result := batch(true, false, "action_complete", "route")
	both := batch(true, true, "action_complete", "route", "state_enter", "action_start")
	inside := batch(true, true, "loop_complete") // of a sub-loop
	output := batch(false, false, "action_output")
	finish := end(2, fsm.EndTerminal)
	for _, c := range []struct {
		what        string
		batch       *fsm.Batch
		now, then   [2]int // in Strict, in Grouped
		repeat      int
		repeatedNow [2]int
	}{
		{"a decision", decision, [2]int{0, 0}, [2]int{1, 1}, 100, [2]int{0, 0}},
		{"an action is about to start", start, [2]int{1, 0}, [2]int{0, 1}, 3, [2]int{3, 0}},
		{"an action's result", result, [2]int{1, 1}, [2]int{0, 0}, 3, [2]int{3, 3}},
		{"a result and the next action", both, [2]int{1, 1}, [2]int{0, 0}, 3, [2]int{3, 3}},
		{"a checkpoint without either", inside, [2]int{1, 0}, [2]int{0, 1}, 3, [2]int{3, 0}},
		{"output", output, [2]int{0, 0}, [2]int{0, 0}, 100, [2]int{0, 0}},
		{"the end", finish, [2]int{1, 1}, [2]int{0, 0}, 1, [2]int{1, 1}},
	} {
		for i, mode := range []persistence.Durability{persistence.Strict, persistence.Grouped, persistence.None} {
			t.Run(c.what+", "+mode.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := open(t)
					d.Durability = mode
					s := count(d)
					j := begin(t, d, step(1))
					testenv.Pass(time.Second)
					s.take()
					var now, then, repeated int
					if mode != persistence.None {
						now, then, repeated = c.now[i], c.then[i], c.repeatedNow[i]
					}
					record := func() {
						t.Helper()
						if err := j.Record(t.Context(), c.batch); err != nil {
							t.Fatal(err)
						}
					}
					record()
					if n := s.take(); n != now {
						t.Errorf("synced %d times before Record returned, want %d", n, now)
					}
					testenv.Pass(50 * time.Millisecond)
					synctest.Wait()
					if n := s.take(); n != then {
						t.Errorf("synced %d times within 50 ms, want %d", n, then)
					}
					for range c.repeat {
						record()
					}
					if n := s.take(); n != repeated {
						t.Errorf("%d in a row: synced %d times, want %d", c.repeat, n, repeated)
					}
					testenv.Pass(time.Second)
					synctest.Wait()
					if n := s.take(); n != then {
						t.Errorf("and then %d times, want %d", n, then)
					}
					if err := j.Close(t.Context()); err != nil {
						t.Error(err)
					}
					if n := s.n; mode == persistence.None && len(n) > 0 {
						t.Errorf("synced %v", n)
					}
				})
			})
		}
	}
}

// A disk that fails while nothing waits for it stops the run at its next record.
func TestDurabilityFailsInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		d.Durability = persistence.Grouped
		s := count(d)
		j := begin(t, d, batch(true, false, "route"))
		broken := errors.New("broken disk")
		s.failWith(broken)
		testenv.Pass(50 * time.Millisecond)
		synctest.Wait()
		if err := j.Record(t.Context(), step(2)); !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
		s.failWith(nil)
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		k, snap, err := d.Resume(t.Context(), j.id, persistence.Spec{})
		if err != nil || snap.Current != "s2" {
			t.Fatalf("%v, %+v", err, snap)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Close waits for nothing, and nothing happens behind it.
func TestDurabilityEndsWithClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		s := count(d)
		j := begin(t, d, batch(true, false, "route"))
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.take(); n != 1 {
			t.Errorf("Close synced %d times, want 1", n)
		}
		testenv.Pass(time.Second)
		synctest.Wait()
		if n := s.take(); n != 0 {
			t.Errorf("synced %d times behind Close", n)
		}
	})
}

func TestParseDurability(t *testing.T) {
	t.Parallel()
	for _, d := range []persistence.Durability{persistence.Strict, persistence.Grouped, persistence.None} {
		if got, err := persistence.ParseDurability(d.String()); err != nil || got != d {
			t.Errorf("%s: %v, %v", d, got, err)
		}
	}
	if _, err := persistence.ParseDurability("Strict"); err == nil ||
		err.Error() != `durability "Strict": expected strict, grouped or none` {
		t.Errorf("error is %v", err)
	}
}
