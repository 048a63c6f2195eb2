package dirstore

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

var found = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// died leaves runs whose owners died, and returns what is to be done about them.
func died(t *testing.T, d *Store, n int) (todo []persistence.Tidying) {
	t.Helper()
	for i := range n {
		j := begin2(t, d, i)
		must(t, j.Record(t.Context(), step(1)))
		j.(*journal).die()
		todo = append(todo, persistence.Tidying{ID: j.Run().ID, Interrupt: true, At: found, Why: "its process is gone"})
	}
	return todo
}

// marked expects each run once, and returns how many are known to be interrupted, and how many are in the archive.
func marked(t *testing.T, d *Store, when string, n int) (known, archived int) {
	t.Helper()
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != n {
		t.Fatalf("%s: %v, %d runs are listed, not %d", when, err, len(runs), n)
	}
	for _, r := range runs {
		r.Bytes = 0 // which only a listing looks at
		if one := d.one(persistence.Query{ID: r.ID}); len(one) != 1 || !reflect.DeepEqual(one[0], r) {
			t.Errorf("%s: %s is found as %+v", when, brief([]persistence.Run{r}), one)
		}
		switch {
		case len(r.Damage) > 0 || !r.Resumable:
			t.Errorf("%s: %+v", when, r)
		case r.Status == persistence.Interrupted && r.Reconciled.Equal(found) && r.Why == "its process is gone":
			known++
		case r.Status != persistence.Running || r.Archived:
			t.Errorf("%s: %+v", when, r)
		}
		if r.Archived {
			archived++
		}
	}
	return known, archived
}

// plain is what is to be done about runs that were marked: they are moved to the archive.
func plain(todo []persistence.Tidying) (moves []persistence.Tidying) {
	for _, m := range todo {
		moves = append(moves, persistence.Tidying{ID: m.ID})
	}
	return moves
}

// A process dies between any two steps of marking runs and moving them to the archive: each is listed once, at
// any time, what was found out about it stays, and the next one finishes.
func TestCrashWhileMarkedRunsAreMoved(t *testing.T) {
	t.Parallel()
	const runs = 3
	for n := 1; ; n++ {
		d := open(t)
		todo := died(t, d, runs)
		count := 0
		d.step = func(string) error {
			if count++; count >= n {
				return errCrash
			}
			return nil
		}
		err := errors.Join(d.MarkInterrupted(t.Context(), todo)...)
		recorded := err == nil
		if recorded {
			err = errors.Join(d.Tidy(t.Context(), plain(todo))...)
		}
		d.step = nil
		if known, _ := marked(t, d, "after the crash", runs); recorded && known != runs {
			t.Fatalf("crash at step %d: of %d runs that were marked %d are", n, runs, known)
		}
		must(t, errors.Join(d.MarkInterrupted(t.Context(), still(t, d, todo))...))
		must(t, errors.Join(d.Tidy(t.Context(), plain(todo))...))
		if known, archived := marked(t, d, "when it was tidied up", runs); known != runs || archived != runs {
			t.Fatalf("crash at step %d: %d runs are known, %d in the archive", n, known, archived)
		}
		if _, err := os.Stat(d.marksPath()); err == nil && count < n {
			t.Error("the marks are left")
		}
		if count < n {
			if n < 5 {
				t.Errorf("only %d steps", n)
			}
			return
		}
		if err != nil && !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
	}
}

// still are those that were not moved.
func still(t *testing.T, d *Store, todo []persistence.Tidying) (left []persistence.Tidying) {
	t.Helper()
	for _, m := range todo {
		if p, err := d.find(m.ID); err == nil && p.folder == "" {
			left = append(left, m)
		}
	}
	return left
}

// The file of marks ends anywhere, and a bit of it is wrong: a run is as it says or as if it were not there.
func TestMarksTorn(t *testing.T) {
	t.Parallel()
	d := open(t)
	todo := died(t, d, 3)
	must(t, errors.Join(d.MarkInterrupted(t.Context(), todo)...))
	if known, archived := marked(t, d, "at first", 3); known != 3 || archived != 0 {
		t.Fatalf("%d are known, %d in the archive", known, archived)
	}
	whole, err := os.ReadFile(d.marksPath())
	must(t, err)
	for n := range whole {
		if n%testenv.Some(5, 1) != 0 && n < len(whole)-3 {
			continue
		}
		must(t, os.WriteFile(d.marksPath(), whole[:n], 0o600))
		if known, _ := marked(t, d, "cut", 3); known > 2 && n < len(whole)-1 { // all but the last line end says all
			t.Errorf("of %d bytes it tells as much as of %d", n, len(whole))
		}
		b := append([]byte(nil), whole...)
		b[n] ^= 1
		must(t, os.WriteFile(d.marksPath(), b, 0o600))
		marked(t, d, "spoilt", 3)
	}
	must(t, os.WriteFile(d.marksPath(), whole[:len(whole)-5], 0o600))
	must(t, errors.Join(d.MarkInterrupted(t.Context(), todo[2:])...)) // adding lines skips the torn one
	if known, _ := marked(t, d, "added to", 3); known != 3 {
		t.Errorf("behind a torn line %d are known", known)
	}
}

// A run that is marked can be resumed as it could before, and the mark is about the segment that died, not
// about the next one. A run that a process owns is not marked.
func TestMarkedRunIsResumed(t *testing.T) {
	t.Parallel()
	d := open(t)
	todo := died(t, d, 2)
	must(t, errors.Join(d.MarkInterrupted(t.Context(), todo)...))
	j, _, err := d.Resume(t.Context(), todo[0].ID, persistence.Spec{})
	must(t, err)
	var held *persistence.HeldError
	if err := d.MarkInterrupted(t.Context(), todo[:1])[0]; !errors.As(err, &held) {
		t.Errorf("a running run is marked: %v", err)
	}
	if err := d.Tidy(t.Context(), plain(todo[:1]))[0]; !errors.As(err, &held) {
		t.Errorf("a running run is moved: %v", err)
	}
	must(t, j.Record(t.Context(), step(2)))
	if r := d.one(persistence.Query{ID: todo[0].ID}); len(r) != 1 || r[0].Status != persistence.Running ||
		!r[0].Reconciled.IsZero() {
		t.Errorf("while it goes on: %s", brief(r))
	}
	j.(*journal).die()
	if r := d.one(persistence.Query{ID: todo[0].ID}); len(r) != 1 || r[0].Status != persistence.Running {
		t.Errorf("it died again, and the mark of the last time says how: %s", brief(r))
	}
	if err := d.Tidy(t.Context(), plain(todo[:1]))[0]; err == nil {
		t.Error("it was moved by a mark of the last time")
	}
	again, _, err := d.Resume(t.Context(), todo[1].ID, persistence.Spec{})
	must(t, err)
	must(t, errors.Join(again.Record(t.Context(), end(2, fsm.EndTerminal)), again.Close(t.Context())))
	if r := d.one(persistence.Query{ID: todo[1].ID}); len(r) != 1 || r[0].Status != persistence.Completed ||
		!r[0].Archived {
		t.Errorf("at its end: %s", brief(r))
	}
}
