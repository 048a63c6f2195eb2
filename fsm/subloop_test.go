package fsm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

// A run that was stopped inside a sub-loop that it is not to continue with any more continued with it as the next state
// that runs a sub-loop, instead of the one that this state names.
func TestAnotherStateRunsItsOwnSubloop(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func(*fsm.Loop, *fsm.Config){
		"higher-cap": func(l *fsm.Loop, _ *fsm.Config) { l.MaxSteps = 6 },
		"gone":       func(_ *fsm.Loop, cfg *fsm.Config) { cfg.Library = without{cfg.Library, "children/stopped"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, "testdata/trace/stop-subloop-"+name+".yaml")
				rec := &tape{}
				cfg, _, ctx := config(loop, rec)
				if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
					t.Fatal(err)
				}
				stopped := clone(rec.saved[len(rec.saved)-1])
				rec.events = nil
				cfg.Runner = &fake{}
				later(loop, &cfg)
				out, err := fsm.Resume(cfg, stopped).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				testenv.Golden(t, "testdata/trace/stop-subloop-"+name+".again",
					show(rec.events)+showEnd(rec.saved[len(rec.saved)-1], out))
			})
		})
	}
}

// without is a library that lost a loop.
type without struct {
	fsm.Library
	name string
}

func (w without) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	if name == w.name {
		return nil, fmt.Errorf("there is no %s any more", strings.TrimPrefix(name, "children/"))
	}
	return w.Library.Loop(name, from)
}

// Events about the work tree of a sub-loop inside a branch said "branch": "a/side", of which a is the branch of
// parallel and side that of git.
func TestWorkTreeInsideABranchIsNoPartOfItsPath(t *testing.T) {
	t.Parallel()
	loop, library := loadLoops(t, "name: outer\ninitial: work\nstates:\n  tree: {loop: inner, worktree: feat/x, "+
		"next: work}\n  work: {parallel: {a: {loop: one}}, next: done}\n  done: {terminal: true}\n",
		"name: one\ninitial: s\nstates:\n  s: {loop: inner, worktree: side, next: done}\n  done: {terminal: true}\n",
		"name: inner\ninitial: s\nstates:\n  s: {action: out x, next: done}\n  done: {terminal: true}\n")
	loop.Initial = "tree"
	rec := &tape{}
	cfg, _, ctx := config(loop, rec)
	cfg.Library = library
	if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil || out.FinalState != "done" {
		t.Fatal(out, err)
	}
	var got []string
	for _, e := range rec.events {
		if e.Kind == fsm.EventWorktreeAttached || e.Kind == fsm.EventWorktreeDetached {
			got = append(got, fmt.Sprint(e.Get("branch"), " ", e.Get("git_branch")))
		}
	}
	if want := []string{"feat/x <nil>", "feat/x <nil>", "a side", "a side"}; !slices.Equal(got, want) {
		t.Errorf("branches %q, want %q", got, want)
	}
}
