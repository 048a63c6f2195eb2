package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/process"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

var began = time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)

// elsewhere is an owner on another machine.
var elsewhere = persistence.Owner{Host: "elsewhere", Boot: "b", PID: 1, Start: 1}

// self is this process.
func self(t testing.TB) persistence.Owner {
	t.Helper()
	id, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	return reconcile.Owner(id)
}

func spec(o persistence.Owner) persistence.Spec {
	return persistence.Spec{
		Loop: "fix", File: "fix.yaml", SHA256: "abc", Definition: []byte("name: fix\n"), Owner: o,
		StartedAt: began,
	}
}

func step(n int) *fsm.Batch {
	return &fsm.Batch{
		Snapshot: &fsm.Snapshot{
			Loop: "fix", Phase: fsm.PhaseActing, Current: fmt.Sprint("s", n), Step: n, Attempt: 1,
			StartedAt: began,
		},
		Events: []fsm.Event{
			{Kind: "state_enter", Time: began, Fields: []fsm.Field{{Key: "step", Value: int64(n)}}},
			{Kind: "action_start", Time: began},
		},
		Checkpoint: true,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, s *sqlstore.Store, o persistence.Owner) persistence.Journal {
	t.Helper()
	j, err := s.Create(t.Context(), spec(o))
	must(t, err)
	must(t, j.Record(t.Context(), step(1)))
	return j
}

func expire(t testing.TB, s *sqlstore.Store) {
	t.Helper()
	if n, err := s.Exec(t.Context(), `UPDATE leases SET until = 1`); err != nil || n != 1 {
		t.Fatalf("%d leases: %v", n, err)
	}
}

// whole makes sure that the history has no gap and no event twice, and returns how many there are.
func whole(t testing.TB, s *sqlstore.Store, id persistence.ID) (n int) {
	t.Helper()
	for e, err := range s.Events(context.Background(), id, 0) {
		must(t, err)
		if n++; e.Seq != uint64(n) {
			t.Fatalf("event %d has number %d", n, e.Seq)
		}
	}
	return n
}

func waitLost(t testing.TB, j persistence.Journal) {
	t.Helper()
	select {
	case <-j.Lost():
	case <-time.After(testenv.Patience):
		t.Fatal("it is not told that the run was lost")
	}
}

func TestFenced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		a := opened(t, with(location(t), "lease=1h"))
		b := a
		old := create(t, a, elsewhere)
		id := old.Run().ID
		other := persistence.Owner{Host: "third", PID: 77}

		_, _, err := b.Resume(t.Context(), id, spec(other))
		var held *persistence.HeldError
		if !errors.As(err, &held) || held.Owner != elsewhere {
			t.Fatalf("error is %v, want a *HeldError", err)
		}
		expire(t, a)
		now, memory, err := b.Resume(t.Context(), id, spec(other))
		must(t, err)
		if memory.Step != 1 {
			t.Errorf("step %d", memory.Step)
		}
		for range 2 { // the first time it finds out, then it knows
			err = old.Record(t.Context(), step(2))
			var fenced *persistence.FencedError
			if !errors.Is(err, persistence.ErrFenced) || !errors.As(err, &fenced) || fenced.Owner != other ||
				fenced.ID != id ||
				!strings.Contains(err.Error(), "another process (pid 77 on third) took over run "+string(id)) {
				t.Fatalf("error is %v", err)
			}
		}
		sqlstore.RenewSoon(old)
		waitLost(t, old)
		must(t, now.Record(t.Context(), step(2)))
		must(t, old.Close(t.Context()))
		must(t, now.Record(t.Context(), step(3)))
		if n := whole(t, a, id); n != 6 {
			t.Errorf("%d events, want 6", n)
		}
		if r := now.Run(); r.Owner != other || r.Segment != 1 {
			t.Errorf("run = %+v", r)
		}
		must(t, now.Close(t.Context()))
	})
}

func TestFencedByInterrupt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, with(location(t), "lease=1h"))
		old := create(t, s, elsewhere)
		id := old.Run().ID
		expire(t, s)
		rs, err := s.Runs(t.Context(), persistence.Query{Live: true})
		must(t, err)
		if len(rs) != 1 || rs[0].Held || !rs[0].Lapsed || reconcile.Alive(rs[0]) {
			t.Errorf("runs = %+v", rs)
		}
		must(t, s.Interrupt(t.Context(), id, began, "it was not heard of"))
		sqlstore.RenewSoon(old)
		waitLost(t, old)
		err = old.Record(t.Context(), step(2))
		want := "run " + string(id) + " was taken from this process, which had not been heard of for too long " +
			"(recorded as: it was not heard of)"
		if !errors.Is(err, persistence.ErrFenced) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v", err)
		}
		must(t, old.Close(t.Context()))
		if n := whole(t, s, id); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
	})
}

// TestLeaseIsRenewed: a live owner keeps its run although the clock jumps: it renews its lease while others
// look a second time.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, with(location(t), "lease=60s"))
		s.Liveness = reconcile.OwnerAlive
		old := create(t, s, self(t))
		for range 2 {
			expire(t, s)
			if rs, err := s.Runs(t.Context(), persistence.Query{}); err != nil || !rs[0].Held || !rs[0].Lapsed ||
				!reconcile.Alive(rs[0]) {
				t.Fatalf("runs = %+v, %v", rs, err)
			}
			sqlstore.RenewSoon(old)
			_, _, err := s.Resume(t.Context(), old.Run().ID, spec(elsewhere))
			if held, ok := errors.AsType[*persistence.HeldError](err); !ok || held.Owner.PID != os.Getpid() {
				t.Fatalf("error is %v, want a *HeldError", err)
			}
			if err := s.Interrupt(t.Context(), old.Run().ID, began, ""); err == nil {
				t.Fatal("a live run was interrupted")
			}
		}
		must(t, old.Record(t.Context(), step(2)))
		must(t, old.Close(t.Context()))
	})
}

// TestRemoved: a user removed the run from the database while it was running.
func TestRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, with(location(t), "lease=1h"))
		j := create(t, s, elsewhere)
		for _, table := range []string{"runs", "leases", "events", "memory"} {
			_, err := s.Exec(t.Context(), `DELETE FROM `+table)
			must(t, err)
		}
		sqlstore.RenewSoon(j)
		waitLost(t, j)
		if err := j.Record(t.Context(), step(2)); !errors.Is(err, persistence.ErrRemoved) {
			t.Errorf("error is %v, want ErrRemoved", err)
		}
		must(t, j.Close(t.Context()))
	})
}

// TestDeadReservation: a process that died before it recorded anything blocks no other.
func TestDeadReservation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		sp := spec(elsewhere)
		sp.Scope = []string{t.TempDir()}
		j, err := s.Create(t.Context(), sp)
		must(t, err)
		_, err = s.Create(t.Context(), sp)
		if _, ok := errors.AsType[*persistence.ConflictError](err); !ok {
			t.Fatalf("error is %v, want a *ConflictError", err)
		}
		expire(t, s)
		k, err := s.Create(t.Context(), sp)
		must(t, err)
		if k.Run().ID == j.Run().ID {
			t.Errorf("both are %s", k.Run().ID) // the folder of the first one is not ours to remove
		}
		if err := j.Record(t.Context(), step(1)); !errors.Is(err, persistence.ErrRemoved) {
			t.Errorf("error is %v, want ErrRemoved", err)
		}
		must(t, j.Close(t.Context()))
		must(t, k.Record(t.Context(), step(1)))
		must(t, k.Close(t.Context()))
	})
}

// TestSameScopeElsewhere: a path is another one on another machine, unless it is in a folder that both have;
// see TestTwoMachinesInOneMount.
func TestSameScopeElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		s, here := opened(t, at), opened(t, at)
		sp := spec(elsewhere)
		sp.Scope = []string{t.TempDir()}
		j, err := s.Create(t.Context(), sp)
		must(t, err)
		sp.Owner = self(t)
		k, err := here.Create(t.Context(), sp)
		must(t, err)
		must(t, k.Close(t.Context()))
		must(t, j.Close(t.Context()))
	})
}
