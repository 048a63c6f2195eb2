package fsm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
)

// A gate runs the check of checkedLoop as a script, and its prompt as an agent.
type gate struct {
	desk
	exit map[string]int // of the check, by what it is done with: first, none, broken, removed, after
	err  map[string]error
	did  []string
}

func (g *gate) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	what := "after"
	switch {
	case a.Kind == fsm.KindPrompt:
		what = "prompt"
	case a.Check != nil && a.Check.Fault != "":
		what = string(a.Check.Fault)
	case strings.HasPrefix(a.Item, "/first"):
		what = "first"
	case a.Item != "":
		what = "item"
	}
	g.did = append(g.did, what)
	code := g.exit[what]
	for _, v := range a.Vars {
		if v.Name == "LOOPS_ITEM" {
			code = max(code, g.exit[what+" "+v.Value])
		}
	}
	return fsm.Result{ExitCode: code, Reply: &fsm.Reply{}}, g.err[what]
}

const checkedLoop = `
name: x
description: d
initial: fix
budget: {allow_unknown_cost: true, steps: 20}
states:
  fix: {action: fix it, action_type: prompt, next: test}
  test: {action: test, check: {must_fail_first: true}, on_yes: done, on_no: fix, on_error: fix}
  done: {terminal: true}
`

func TestCheckFailsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		exit      map[string]int
		err       map[string]error
		did, want string
	}{
		{"fails", map[string]int{"first": 1}, nil, "first prompt after", "terminal done  "},
		{"errs", map[string]int{"first": 2}, nil, "first prompt after", "terminal done  "},
		{
			"passes",
			map[string]int{"broken": 1},
			nil, "first none broken",
			"terminal fix  nothing to do: the check of state test passes already",
		},
		{
			"needs files",
			map[string]int{"removed": 1},
			nil, "first none broken removed",
			"terminal fix  nothing to do: the check of state test passes already",
		},
		{
			"cannot fail", nil, nil, "first none broken removed",
			"error fix this gate cannot fail: the check of state test also passes in a copy",
		},
		{
			"in place",
			map[string]int{"none": 1},
			nil, "first none",
			"terminal fix  nothing to do: the check of state test passes already; whether it can fail is not known, " +
				"because it fails in a clean copy",
		},
		{
			"no files", nil,
			map[string]error{"broken": fsm.ErrNoFault},
			"first none broken",
			"terminal fix  nothing to do: the check of state test passes already; whether it can fail is not known, " +
				"because there is no file",
		},
		{
			"cannot be done", nil,
			map[string]error{"first": errGone},
			"first",
			"error fix the check of state test, which has to fail before the first prompt, cannot be done: died",
		},
	} {
		g := &gate{exit: c.exit, err: c.err}
		rec := &lastMemory{}
		cfg := fsm.Config{
			Loop: guardLoop(t, checkedLoop), World: fsm.World{Runner: g, Trees: g},
			Journal: fsm.Journal{Recorder: rec, Verify: true},
		}
		o, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s %s %s", o.TerminatedBy, o.FinalState, o.Error,
			o.Message); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := strings.Join(g.did, " "); got != c.did {
			t.Errorf("%s: did %s, want %s", c.name, got, c.did)
		}
	}
}

// A run that is resumed does not do it again, and a loop that is only simulated does not do it at all.
func TestCheckFailsFirstOnce(t *testing.T) {
	t.Parallel()
	g := &gate{exit: map[string]int{"first": 1}}
	rec := &lastMemory{stop: func(m fsm.Snapshot) bool { return m.FailedFirst && m.Phase == fsm.PhaseActing }}
	cfg := fsm.Config{
		Loop: guardLoop(t, checkedLoop), World: fsm.World{Runner: g, Trees: g},
		Journal: fsm.Journal{Recorder: rec},
	}
	if _, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context()); err == nil {
		t.Fatal("the run did not die")
	}
	mem := rec.mem
	again := &lastMemory{}
	cfg.Recorder = again
	if o, err := fsm.Resume(cfg, &mem).Run(t.Context()); err != nil || o.FinalState != "done" {
		t.Errorf("%+v, %v", o, err)
	}
	if n := len(slices.DeleteFunc(slices.Clone(g.did), func(s string) bool { return s != "first" })); n != 1 {
		t.Errorf("it was done %d times: %v", n, g.did)
	}
	g.did = nil
	cfg.Trees, cfg.Recorder = nil, &lastMemory{}
	if _, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context()); err != nil || slices.Contains(g.did, "first") {
		t.Errorf("%v, %v", g.did, err)
	}
}

// The tree with which a run began is on record before anything acts, and a resumed run is given it.
func TestStartTree(t *testing.T) {
	t.Parallel()
	var given []string
	g := &gate{exit: map[string]int{"first": 1}}
	rec := &lastMemory{stop: func(m fsm.Snapshot) bool {
		return m.StartTree != "" && m.Step == 1 && m.Phase == fsm.PhaseActing
	}}
	cfg := fsm.Config{
		Loop: guardLoop(t, checkedLoop), World: fsm.World{Runner: g, Trees: g},
		Journal: fsm.Journal{Recorder: rec},
	}
	cfg.Start = func(_ context.Context, known string) (string, error) { given = append(given, known); return "t1", nil }
	if _, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context()); err == nil {
		t.Fatal("the run did not die")
	}
	mem := rec.mem
	cfg.Recorder = &lastMemory{}
	if o, err := fsm.Resume(cfg, &mem).Run(t.Context()); err != nil || o.FinalState != "done" {
		t.Errorf("%+v, %v", o, err)
	}
	if got := strings.Join(given, ","); got != ",t1" {
		t.Errorf("Start was given %q", got)
	}
	cfg.Start = func(context.Context, string) (string, error) { return "", errGone }
	if _, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context()); err == nil {
		t.Error("a run without its tree began")
	}
}

const checkedItems = `
name: x
description: d
initial: fix
budget: {allow_unknown_cost: true, steps: 20}
states:
  fix: {action: fix it, action_type: prompt, next: test}
  test: {for_each: [%s], action: test, check: {must_fail_first: true}, on_yes: done, on_no: fix, on_error: fix}
  done: {terminal: true}
`

// A list of checks has to fail before the first prompt: one of its items. The faults are planted for each.
func TestCheckOfItemsFailsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, items string
		exit        map[string]int
		did, want   string
	}{
		{"fails", "a, b", map[string]int{"first": 1}, "first prompt item item", "terminal done  "},
		{"the second fails", "a, b", map[string]int{"first b": 1}, "first first prompt item item", "terminal done  "},
		{
			"passes", "a, b",
			map[string]int{"broken": 1},
			"first first none none broken",
			"terminal fix  nothing to do: the check of state test passes already",
		},
		{
			"cannot fail", "a", nil, "first none broken removed",
			"error fix this gate cannot fail: the check of state test also passes in a copy",
		},
	} {
		g := &gate{exit: c.exit}
		cfg := fsm.Config{
			Loop:  guardLoop(t, fmt.Sprintf(checkedItems, c.items)),
			World: fsm.World{Runner: g, Trees: g}, Journal: fsm.Journal{Recorder: &lastMemory{}, Verify: true},
		}
		o, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s %s %s", o.TerminatedBy, o.FinalState, o.Error,
			o.Message); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := strings.Join(g.did, " "); got != c.did {
			t.Errorf("%s: did %s, want %s", c.name, got, c.did)
		}
	}
}
