package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
)

// A desk is a folder as a guard sees it: its files, and what was kept of it.
type desk struct {
	files string // separated by blanks
	kept  []string
	fail  error
	looks int
}

func (d *desk) Tree(context.Context, string) (string, error) { d.looks++; return d.files, d.fail }

func (d *desk) Changes(_ context.Context, _, from string) (string, []fsm.FileChange, error) {
	var changes []fsm.FileChange
	for _, f := range strings.Fields(d.files) {
		if !slices.Contains(strings.Fields(from), f) {
			changes = append(changes, fsm.FileChange{Path: f, Lines: 1})
		}
	}
	for _, f := range strings.Fields(from) {
		if !slices.Contains(strings.Fields(d.files), f) {
			changes = append(changes, fsm.FileChange{Path: f, Deleted: true, Lines: 1})
		}
	}
	return d.files, changes, d.fail
}

func (d *desk) PutBack(_ context.Context, _, before string, b fsm.Breach) (string, error) {
	if d.fail == nil {
		d.kept = append(d.kept, b.At+": "+b.After)
		d.files = before
	}
	return "kept", d.fail
}

// Run adds files to the desk: those that the action names.
func (d *desk) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	d.files = strings.TrimSpace(d.files + " " + a.Text)
	return fsm.Result{}, nil
}

// A lastMemory keeps what was recorded last.
type lastMemory struct {
	mem    fsm.Snapshot
	events []string
	stop   func(fsm.Snapshot) bool // the record fails from here on, as that of a process that died
	dead   bool
}

var errGone = errors.New("died")

func (r *lastMemory) Record(_ context.Context, b *fsm.Batch) error {
	if r.dead {
		return errGone
	}
	for _, e := range b.Events {
		r.events = append(r.events, e.Kind)
	}
	if b.Snapshot != nil {
		r.mem = *b.Snapshot
		r.dead = r.stop != nil && r.stop(r.mem)
	}
	if r.dead {
		return nil
	}
	return nil
}

func guardLoop(t *testing.T, text string) *fsm.Loop {
	t.Helper()
	l, problems := loopfile.Parse("x.yaml", []byte(text), nil)
	if l == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	return l
}

const boundLoop = `
name: x
description: d
initial: s
guard: {protect: [bad]}
states:
  s: {action: %s, next: e%s}
  told: {terminal: true}
  e: {terminal: true}
`

func TestGuardEndsOrRoutes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ action, more, want, files string }{
		{"good", "", "terminal e ", "a good"},
		{"bad", "", "error s state s changed what its guard does not allow (protect: bad): bad; the files are as " +
			"before, and what it changed is in kept", "a"},
		{"bad", ", on_guarded: told", "terminal told ", "a"},
		{"'good bad'", ", on_error: told", "error s state s changed what its guard does not allow (protect: bad): " +
			"bad; the files are as before, and what it changed is in kept", "a"},
	} {
		d := &desk{files: "a"}
		rec := &lastMemory{}
		cfg := fsm.Config{
			Loop:  guardLoop(t, fmt.Sprintf(boundLoop, c.action, c.more)),
			World: fsm.World{Runner: d, Trees: d}, Journal: fsm.Journal{Recorder: rec, Verify: true},
		}
		o, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := o.TerminatedBy + " " + o.FinalState + " " + o.Error; got != c.want || d.files != c.files {
			t.Errorf("%s: %s, files %q; want %s, %q", c.action, got, d.files, c.want, c.files)
		}
		if o.TerminatedBy == fsm.EndError && !o.Retriable() {
			t.Errorf("%s: it cannot be resumed", c.action)
		}
		if rec.mem.Guard != nil {
			t.Errorf("%s: the memory keeps %v", c.action, rec.mem.Guard)
		}
	}
}

// A run that dies between any two records ends as it would have, and puts back what it has to.
func TestGuardIsResumed(t *testing.T) {
	t.Parallel()
	loop := guardLoop(t, fmt.Sprintf(boundLoop, "bad", ", on_guarded: told"))
	for n := 1; ; n++ {
		d, rec, count := &desk{files: "a"}, &lastMemory{}, 0
		rec.stop = func(fsm.Snapshot) bool { count++; return count == n }
		cfg := fsm.Config{
			Loop: loop, World: fsm.World{Runner: d, Trees: d},
			Journal: fsm.Journal{Recorder: rec, Verify: true},
		}
		o, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context())
		if err == nil {
			if n < 4 {
				t.Errorf("only %d records", n)
			}
			break
		}
		mem := rec.mem
		*rec = lastMemory{}
		if o, err = fsm.Resume(cfg, &mem).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o.FinalState != "told" || d.files != "a" {
			t.Errorf("after %d records: %s %s %s, files %q", n, o.TerminatedBy, o.FinalState, o.Error, d.files)
		}
	}
}

// A guard that cannot look lets nothing through.
func TestGuardThatCannotLook(t *testing.T) {
	t.Parallel()
	d := &desk{fail: errors.New("git is gone")}
	cfg := fsm.Config{
		Loop:  guardLoop(t, fmt.Sprintf(boundLoop, "good", ", on_error: told")),
		World: fsm.World{Runner: d, Trees: d}, Journal: fsm.Journal{Recorder: &lastMemory{}},
	}
	o, err := fsm.Start(cfg, nil, time.Now()).Run(t.Context())
	if err != nil || o.TerminatedBy != fsm.EndError || !o.Retriable() ||
		o.Error != "the guard of state s cannot look at the files: git is gone" || d.files != "" {
		t.Errorf("%+v, %v, files %q", o, err, d.files)
	}
	d.fail = nil
	cfg.Loop.Guard = nil
	if _, err = fsm.Start(cfg, nil, time.Now()).Run(t.Context()); err != nil || d.looks != 1 {
		t.Errorf("a loop without a guard is looked at %d times, %v", d.looks-1, err)
	}
}
