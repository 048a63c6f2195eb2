package sqlstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/sqlstore"
	"loops/persistence/storetest"
)

// fill records runs of every kind.
func fill(t *testing.T, s persistence.Store) {
	t.Helper()
	many := 500
	if testenv.Raced {
		many = 40
	}
	for i, by := range []string{
		fsm.EndTerminal, fsm.EndError, fsm.EndInterrupted, fsm.EndTimeout, "", "died",
		"resumed",
	} {
		sp := spec(self(t))
		sp.StartedAt = began.Add(time.Duration(i) * time.Minute)
		sp.Loop, sp.MaxSteps, sp.Options = []string{"fix", "sub/ünï"}[i%2], 50, value.NewMap("delay", 0.5)
		sp.Definition = fmt.Appendf(nil, "name: fix\n# %d\n", i/2)
		j, err := s.Create(t.Context(), sp)
		must(t, err)
		m := storetest.Filled(sp.Loop)
		m.Outcome, m.StartedAt = nil, sp.StartedAt
		m.Captured.Set("big", value.NewMap("output", strings.Repeat("0123456789abcdef", 8<<10)))
		for n := range 3 + many*i {
			m.Step = n
			b := step(n)
			b.Snapshot, b.Checkpoint = m, n%many == 0
			must(t, j.Record(t.Context(), b))
		}
		if by != "" && by != "died" {
			m.Outcome = &fsm.Outcome{TerminatedBy: by, FinalState: "end", Error: "é\x00"}
			if by == "resumed" {
				m.Outcome.TerminatedBy = fsm.EndHandoff
			}
			must(t, j.Record(t.Context(),
				&fsm.Batch{Snapshot: m, Checkpoint: true, Events: []fsm.Event{{Kind: "loop_complete", Time: began}}}))
		}
		must(t, j.Close(t.Context()))
		switch by {
		case "died":
			must(t, s.Interrupt(t.Context(), j.Run().ID, began, "its process (pid 7) is gone"))
		case "resumed":
			sp.Definition = []byte("name: fix\n# new\n")
			k, m, err := s.Resume(t.Context(), j.Run().ID, sp)
			must(t, err)
			m.Outcome = nil
			b := step(2)
			b.Snapshot = m
			must(t, k.Record(t.Context(), b))
			must(t, k.Close(t.Context()))
		}
	}
}

func sums(t *testing.T, s persistence.Store) (all []string) {
	t.Helper()
	runs, err := s.Runs(t.Context(), persistence.Query{})
	must(t, err)
	for _, r := range runs {
		d, err := persistence.Sum(t.Context(), s, r)
		must(t, err)
		text, err := s.Definition(t.Context(), r.ID)
		must(t, err)
		all = append(all, fmt.Sprintf("%s %s %s %q", r.ID, r.Status, d, text))
	}
	return all
}

// TestCopy copies runs from files to SQLite, to PostgreSQL, to memory, and to other files.
func TestCopy(t *testing.T) {
	t.Parallel()
	dir, err := dirstore.Open(filepath.Join(t.TempDir(), ".loops"))
	must(t, err)
	fill(t, dir)
	memory := storetest.NewMemory()
	t.Cleanup(func() { must(t, memory.Close()) })
	other, err := dirstore.Open(filepath.Join(t.TempDir(), ".loops"))
	must(t, err)
	other.PartSize = 4 << 10
	stores := []persistence.Store{
		dir, opened(t, dialects[0].location(t)), opened(t, dialects[1].location(t)), memory,
		other,
	}
	want := sums(t, dir)
	if len(want) != 7 {
		t.Fatalf("runs = %q", want)
	}
	for i, to := range stores[1:] {
		runs, err := stores[i].Runs(t.Context(), persistence.Query{})
		must(t, err)
		for _, r := range runs {
			first, err := persistence.Copy(t.Context(), stores[i], to, r)
			must(t, err)
			if again, err := persistence.Copy(t.Context(), stores[i], to, r); !errors.Is(err, fs.ErrExist) ||
				again != first {
				t.Errorf("a second time: %v, %v, and was %v", err, again, first)
			}
		}
		if got := sums(t, to); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("store %d has\n%s\nwant\n%s", i+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, s := range stores[1:] { // what was copied can be resumed, where it could be before
		runs, err := s.Runs(t.Context(), persistence.Query{})
		must(t, err)
		for _, r := range runs {
			j, m, err := s.Resume(t.Context(), r.ID, spec(self(t)))
			if _, no := errors.AsType[*persistence.NotResumableError](err); no != !r.Resumable {
				t.Errorf("%s: %v", r.ID, err)
			}
			if err != nil {
				continue
			}
			before := len(events(t, s, r.ID))
			m.Outcome = nil
			b := step(3)
			b.Snapshot = m
			must(t, j.Record(t.Context(), b))
			must(t, j.Close(t.Context()))
			if b.Events[0].Seq != uint64(before)+1 || len(events(t, s, r.ID)) != before+2 {
				t.Errorf("%s: event %d is behind %d", r.ID, b.Events[0].Seq, before)
			}
		}
	}
}

func events(t *testing.T, s persistence.Store, id persistence.ID) (es []fsm.Event) {
	t.Helper()
	for e, err := range s.Events(t.Context(), id, 0) {
		must(t, err)
		es = append(es, e)
	}
	return es
}

// TestCopyRefused: what is owned or damaged is not copied, and leaves nothing behind.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		from := opened(t, dialects[0].location(t))
		to := opened(t, location(t))
		j := create(t, from, self(t))
		for n := range 1200 {
			b := step(n + 2)
			b.Checkpoint = false
			must(t, j.Record(t.Context(), b))
		}
		_, err := persistence.Copy(t.Context(), from, to, j.Run())
		if _, ok := errors.AsType[*persistence.HeldError](err); !ok {
			t.Errorf("error is %v, want a *HeldError", err)
		}
		must(t, j.Close(t.Context()))
		n, err := from.Exec(t.Context(), `UPDATE events SET body = '{' WHERE seq = 2000`)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		_, err = persistence.Copy(t.Context(), from, to, j.Run())
		if _, ok := errors.AsType[*persistence.DamageError](err); !ok {
			t.Errorf("error is %v, want a *DamageError", err)
		}
		empty(t, to)
		_, err = from.Exec(t.Context(), `DELETE FROM events WHERE seq = 2000`)
		must(t, err)
		m, err := from.Snapshot(t.Context(), j.Run().ID)
		must(t, err)
		gap := func(yield func(fsm.Event, error) bool) {
			_ = yield(fsm.Event{Kind: "a", Seq: 1}, nil) && yield(fsm.Event{Kind: "b", Seq: 3}, nil)
		}
		if err := to.Import(t.Context(), persistence.Recorded{Run: j.Run(), Memory: m, Events: gap}); err == nil {
			t.Error("a gap was imported")
		}
		empty(t, to)
		imported := persistence.Recorded{
			Run: j.Run(), Memory: m,
			Events: iter.Seq2[fsm.Event, error](func(func(fsm.Event, error) bool) {}),
		}
		must(t, to.Import(t.Context(), imported))
		if got, err := to.Snapshot(t.Context(), j.Run().ID); err != nil || got.Step != m.Step {
			t.Errorf("memory %+v, %v", got, err)
		}
		k, _, err := to.Resume(t.Context(), j.Run().ID, spec(elsewhere))
		must(t, err)
		must(t, k.Record(t.Context(), step(5)))
		must(t, k.Close(t.Context()))
	})
}

func empty(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	for _, table := range []string{"runs", "events", "memory", "texts", "leases"} {
		var n int
		must(t, s.Ask(t.Context(), &n, `SELECT count(*) FROM `+table))
		if n != 0 {
			t.Errorf("there are %d rows in %s", n, table)
		}
	}
}
