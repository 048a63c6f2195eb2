package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// recordedRuns are runs to import: one that ended, and one that its owner released.
func recordedRuns(t *testing.T) (from *Store, runs []persistence.Run) {
	t.Helper()
	from = open(t)
	for _, batch := range [][]*fsm.Batch{{step(1), step(2), end(2, "terminal")}, {step(1), step(2), step(3)}} {
		j := begin(t, from, batch...)
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := from.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 2 {
		t.Fatal(err, len(runs))
	}
	return from, runs
}

// TestCrashWhileImporting looks at what a crash before each step of an import would leave: nothing of the run,
// or all of it, and the import can be done again.
func TestCrashWhileImporting(t *testing.T) {
	t.Parallel()
	from, runs := recordedRuns(t)
	for _, run := range runs {
		want, err := persistence.Sum(t.Context(), from, run)
		if err != nil {
			t.Fatal(err)
		}
		to, steps := open(t), 0
		to.step = func(name string) error {
			steps++
			left := filepath.Join(t.TempDir(), ".loops")
			if err := os.CopyFS(left, os.DirFS(to.root)); err != nil {
				t.Fatal(err)
			}
			when := fmt.Sprintf("archived %v, crash before %q", run.Archived, name)
			checkImported(t, when, from, left, run, want)
			return nil
		}
		if got, err := persistence.Copy(t.Context(), from, to, run); err != nil || got != want {
			t.Fatal(err, got, want)
		}
		if steps < 5 {
			t.Errorf("only %d steps", steps)
		}
		to.step = nil
		checkImported(t, "done", from, to.root, run, want)
	}
}

// checkImported imports a run again into a directory that a crash left.
func checkImported(t *testing.T, when string, from *Store, root string, run persistence.Run, want persistence.Digest) {
	t.Helper()
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	there, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(there) > 1 {
		t.Fatalf("%s: %v, %d runs", when, err, len(there))
	}
	_, err = persistence.Copy(t.Context(), from, d, run)
	different, _ := errors.AsType[*persistence.DifferentError](err) // where it is in the archive, and was not
	if len(there) == 0 && err != nil || len(there) == 1 && !errors.Is(err, fs.ErrExist) &&
		(different == nil || run.Archived) {
		t.Errorf("%s: there were %d runs; once more: %v", when, len(there), err)
	}
	there, err = d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(there) != 1 {
		t.Fatalf("%s: %v, %d runs", when, err, len(there))
	}
	there[0].Archived = run.Archived // a crash may leave one in the archive that was not there
	if got, err := persistence.Sum(t.Context(), d, there[0]); err != nil || got != want {
		t.Errorf("%s: %v, %s, want %s", when, err, got, want)
	}
	for _, dir := range []string{d.running, d.history} {
		names, _ := disk.Names(dir)
		for _, n := range names {
			if strings.HasSuffix(n, ".import") || strings.HasSuffix(n, ".lock") && n != ".acquire.lock" &&
				!run.Archived {
				t.Errorf("%s: %s is left", when, n)
			}
		}
	}
}

func TestImportRefused(t *testing.T) {
	t.Parallel()
	from, runs := recordedRuns(t)
	memory, err := from.Snapshot(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(r *persistence.Recorded)
		want   string
	}{
		{"of little-loops", func(r *persistence.Recorded) { r.Run.Foreign = true }, "was written by little-loops"},
		{"another id", func(r *persistence.Recorded) { r.Run.ID = "fix" }, "cannot be the name of files"},
		{
			"another run id", func(r *persistence.Recorded) { r.Run.RunID = "2026-11-21T103406" },
			"cannot be the name of files",
		},
		{"a name that leads away", func(r *persistence.Recorded) {
			r.Run.ID, r.Run.Loop = "../fix-20261121T103405", "../fix"
		}, "cannot be the name of files"},
		{"without memory", func(r *persistence.Recorded) { r.Memory = nil }, "does not remember when it started"},
		{
			"without events", func(r *persistence.Recorded) { r.Events = from.Events(t.Context(), runs[0].ID, 1000) },
			"has no events",
		},
		{
			"with a gap", func(r *persistence.Recorded) { r.Events = from.Events(t.Context(), runs[0].ID, 2) },
			"event 0 is followed by 3",
		},
		{"unknown", func(r *persistence.Recorded) { r.Events = from.Events(t.Context(), "x", 0) }, "no such run"},
	} {
		to := open(t)
		r := persistence.Recorded{Run: runs[0], Memory: memory, Events: from.Events(t.Context(), runs[0].ID, 0)}
		c.change(&r)
		if err := to.Import(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if there, err := to.Runs(t.Context(), persistence.Query{}); err != nil || len(there) > 0 {
			t.Errorf("%s: %v, %d runs are there", c.name, err, len(there))
		}
		names, _ := disk.Names(to.history)
		if len(names) > 0 {
			t.Errorf("%s: %q is left", c.name, names)
		}
	}
}

// TestCopyOfAnotherRun: what is there is not overwritten, whatever it is.
func TestCopyOfAnotherRun(t *testing.T) {
	t.Parallel()
	from, runs := recordedRuns(t)
	to := open(t)
	for _, r := range runs {
		if _, err := persistence.Copy(t.Context(), from, to, r); err != nil {
			t.Fatal(err)
		}
	}
	i := slices.IndexFunc(runs, func(r persistence.Run) bool { return r.Resumable })
	j, _, err := from.Resume(t.Context(), runs[i].ID, persistence.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Record(t.Context(), step(9)), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	now, err := relisted(t.Context(), from, runs[i])
	if err != nil {
		t.Fatal(err)
	}
	digest, err := persistence.Copy(t.Context(), from, to, now)
	different, ok := errors.AsType[*persistence.DifferentError](err)
	if !ok || different.Want != digest || different.Have.Events == digest.Events || different.ID != now.ID {
		t.Errorf("%v, %+v", err, digest)
	}
	if s, err := to.Snapshot(t.Context(), now.ID); err != nil || s.Step == 9 {
		t.Errorf("it was overwritten: %v, step %d", err, s.Step)
	}
}

// A restless store has a run resumed by a user while its history is read.
type restless struct {
	*Store
	resume func()
}

func (r restless) Events(ctx context.Context, id persistence.ID, after uint64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		for e, err := range r.Store.Events(ctx, id, after) {
			if !yield(e, err) {
				return
			}
		}
		r.resume()
	}
}

// TestCopyOfARunThatIsResumed: a copy that would be half of what a run was, and half of what it became, is not made.
func TestCopyOfARunThatIsResumed(t *testing.T) {
	t.Parallel()
	from, runs := recordedRuns(t)
	run := runs[slices.IndexFunc(runs, func(r persistence.Run) bool { return r.Resumable })]
	for _, goesOn := range []bool{true, false} {
		to := open(t)
		var j persistence.Journal
		_, err := persistence.Copy(t.Context(), restless{from, func() {
			var err error
			if j, _, err = from.Resume(t.Context(), run.ID, persistence.Spec{}); err == nil {
				err = j.Record(t.Context(), step(9))
			}
			if err == nil && !goesOn {
				err = j.Close(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}}, to, run)
		if held, ok := errors.AsType[*persistence.HeldError](err); !ok || held.ID != run.ID {
			t.Errorf("goes on %v: error is %v, want a *HeldError", goesOn, err)
		}
		if there, err := to.Runs(t.Context(), persistence.Query{}); err != nil || len(there) > 0 {
			t.Errorf("goes on %v: %v, %d runs are there", goesOn, err, len(there))
		}
		if goesOn {
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if run, err = relisted(t.Context(), from, run); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// relisted is a run as it is listed now.
func relisted(ctx context.Context, s persistence.Store, run persistence.Run) (persistence.Run, error) {
	runs, err := s.Runs(ctx, persistence.Query{ID: run.ID})
	if err == nil && len(runs) == 0 {
		err = persistence.ErrNotFound
	}
	if err != nil {
		return persistence.Run{}, err
	}
	return runs[0], nil
}
