package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/persistence"
)

// endedRun runs the loop to its end.
func endedRun(ctx context.Context, t *testing.T, e *Engine, dir string) persistence.ID {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(e.p.Dir, dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.p.Dir, dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := e.Start(ctx, StartRequest{Loop: "life", Context: []string{"dir=" + dir}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := r.Wait(ctx); err != nil || result.Outcome.FinalState != "done" {
		t.Fatalf("%+v, %v", result, err)
	}
	return r.ID()
}

func idsOf(rs []Removed) string {
	var ids []string
	for _, r := range rs {
		ids = append(ids, string(r.ID))
	}
	return strings.Join(ids, " ")
}

// A run that is alive is not removed, forced or not; one that can be resumed only if forced; and unless all may
// go, none does.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, location := range lifeStores {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e := New(newLifeProject(t, location), Options{})
			defer e.Close()
			alive := liveRun(ctx, t, e)
			open, _ := killedRun(ctx, t, e.p)
			ended := endedRun(ctx, t, e, "ended")
			refused := func(what string, want any, force bool, ids ...string) {
				t.Helper()
				gone, err := e.Remove(ctx, RemoveRequest{Runs: ids, Force: force})
				if len(gone) != 0 || !errors.Is(err, ErrNothingRemoved) || !errors.As(err, want) {
					t.Errorf("%s: %q went, %v", what, idsOf(gone), err)
				}
				if _, there := recordedAs(ctx, t, e, ended); !there {
					t.Fatalf("%s: the one that may go went all the same", what)
				}
			}
			var held *persistence.HeldError
			var resumable *ResumableError
			var no *project.NoIDError
			refused("alive", &held, false, string(ended), string(alive.ID()))
			refused("alive, forced", &held, true, string(ended), string(alive.ID()))
			refused("resumable", &resumable, false, string(ended), string(open))
			refused("not there", &no, true, string(ended), "life-20200101T000000")
			refused("a loop", &no, true, string(ended), "life")
			if held.ID != alive.ID() || resumable.Run.ID != open || no.Runs != 3 {
				t.Errorf("refused: %s, %s, %d", held.ID, resumable.Run.ID, no.Runs)
			}
			gone, err := e.Remove(ctx, RemoveRequest{Runs: []string{string(ended), string(ended)}})
			if err != nil || idsOf(gone) != string(ended) || gone[0].Bytes <= 0 {
				t.Errorf("%+v, %v", gone, err)
			}
			gone, err = e.Remove(ctx, RemoveRequest{Runs: []string{string(open)}, Force: true})
			if err != nil || idsOf(gone) != string(open) {
				t.Errorf("forced: %+v, %v", gone, err)
			}
			for _, id := range []persistence.ID{ended, open} {
				if r, there := recordedAs(ctx, t, e, id); there {
					t.Errorf("%s is still recorded: %+v", id, r)
				}
			}
			if _, err := e.Remove(ctx, RemoveRequest{Runs: []string{string(ended)}}); !errors.Is(err,
				ErrNothingRemoved) {
				t.Errorf("once more: %v", err)
			}
			letEnd(ctx, t, e, alive)
		})
	}
}

// What the policy selects is removed, and what is alive or can be resumed stays; a dry run removes nothing, and without
// a policy nothing happens.
func TestPrune(t *testing.T) {
	t.Parallel()
	for name, location := range lifeStores {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e := New(newLifeProject(t, location), Options{})
			defer e.Close()
			first := endedRun(ctx, t, e, "first")
			second := endedRun(ctx, t, e, "second")
			open, _ := killedRun(ctx, t, e.p)
			alive := liveRun(ctx, t, e)
			if _, err := e.Reconcile(ctx); err != nil {
				t.Fatal(err)
			}
			if pruned, err := e.Prune(ctx, PruneRequest{}); pruned != nil || !errors.Is(err, ErrNoPolicy) {
				t.Errorf("without a policy: %+v, %v", pruned, err)
			}
			all := PruneRequest{Policy: &Policy{MaxSize: -1}, DryRun: true}
			for _, dry := range []bool{true, false} {
				all.DryRun = dry
				pruned, err := e.Prune(ctx, all)
				if err != nil || idsOf(pruned.Gone) != string(first)+" "+string(second) || pruned.Stay != 2 ||
					pruned.Kept != (Kept{Live: 1, Resumable: 1}) {
					t.Errorf("dry %t: %+v, %v", dry, pruned, err)
				}
				if _, there := recordedAs(ctx, t, e, first); there != dry {
					t.Errorf("dry %t: the run is there: %t", dry, there)
				}
			}
			for _, id := range []persistence.ID{open, alive.ID()} {
				if _, there := recordedAs(ctx, t, e, id); !there {
					t.Errorf("%s went", id)
				}
			}
			letEnd(ctx, t, e, alive)
		})
	}
}

// What retention removes is removed beside a run, and its observer is notified before Close returns; what retention is
// about to do does not keep Wait.
func TestRetentionBesideARun(t *testing.T) {
	t.Parallel()
	for name, location := range lifeStores {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			p := newLifeProject(t, location)
			e := New(p, Options{})
			old := endedRun(ctx, t, e, "old")
			newer := endedRun(ctx, t, e, "newer")
			e.Close()
			settle(t, p, "retention: {keep_last: 1}\n")
			e = New(p, Options{})
			var told []Retained
			e.Observe(ObserverFunc(func(n Notice) {
				if r, ok := n.(Retained); ok {
					told = append(told, r)
				}
			}))
			run := endedRun(ctx, t, e, "beside")
			e.Close()
			if len(told) != 1 || told[0].Run != run || idsOf(told[0].Removed) != string(old) || told[0].Err != nil ||
				told[0].Late {
				t.Errorf("told: %+v", told)
			}
			for id, want := range map[persistence.ID]bool{old: false, newer: true, run: true} {
				if _, there := recordedAs(ctx, t, e, id); there != want {
					t.Errorf("%s is recorded: %t", id, there)
				}
			}
		})
	}
}

func settle(t *testing.T, p *project.Project, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.Loops, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Config(); err != nil {
		t.Fatal(err)
	}
}

// Retention that failed was marked as done, so that a day passed before it was tried again: it is due again in an hour.
func TestRetentionThatFailedIsNotDone(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{"": "done", "sqlite:absent.db": "begun"} {
		p := newLifeProject(t, store)
		settle(t, p, "retention: {keep_last: 1}\n")
		var told []Notice
		New(p, Options{}).retain("life-20260101T000000", func(n Notice) { told = append(told, n) })(true)
		stamp, err := os.ReadFile(p.RetentionStamp())
		if _, how, _ := strings.Cut(strings.TrimSpace(string(stamp)), " "); err != nil || how != want {
			t.Errorf("%q: the stamp says %q, %v", store, stamp, err)
		}
		if failed := want != "done"; failed != (len(told) == 1) {
			t.Errorf("%q: told: %+v", store, told)
		}
	}
}
