package fsm_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/loopfile"
)

// sandboxes remembers what each action was limited by.
type sandboxes struct {
	mu  sync.Mutex
	got map[string]string
}

func (s *sandboxes) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, p := range a.Sandbox {
		names = append(names, p.Preset)
	}
	s.got[a.Text] = strings.Join(names, " ")
	return fsm.Result{}, nil
}

type forgetful struct{}

func (forgetful) Record(context.Context, *fsm.Batch) error { return nil }

type oneLibrary struct{ loop *fsm.Loop }

func (l oneLibrary) Loop(string, *fsm.Loop) (*fsm.Loop, error) { return l.loop, nil }

// What is around an action limits it too: loop, state, branch, item and sub-loop only tighten.
func TestSandboxesTighten(t *testing.T) {
	t.Parallel()
	parse := func(text string) *fsm.Loop {
		l, problems := loopfile.Parse("x.yaml", []byte(text), nil)
		if l == nil {
			t.Fatal(problems)
		}
		return l
	}
	child := parse(
		`{name: child, description: d, initial: c, sandbox: offline, states: {c: {action: child, next: e}, e: {terminal: true}}}`)
	loop := parse(`
name: x
description: d
initial: plain
sandbox: workspace
states:
  plain: {action: plain, next: tight}
  tight: {action: tight, sandbox: strict, next: loose}
  loose: {action: loose, sandbox: "off", next: items}
  items: {for_each: [a], action: 'item ${item.value}', sandbox: offline, on_yes: sides, on_no: e}
  sides:
    sandbox: offline
    parallel: {one: {action: branch, sandbox: strict}, two: {loop: child}}
    on_yes: sub
    on_no: e
  sub: {loop: child, sandbox: strict, on_yes: e, on_no: e}
  e: {terminal: true}
`)
	r := &sandboxes{got: map[string]string{}}
	cfg := fsm.Config{
		Loop: loop, World: fsm.World{Runner: r, Library: oneLibrary{child}},
		Journal: fsm.Journal{Recorder: forgetful{}},
	}
	if out, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); err != nil ||
		out.TerminatedBy != fsm.EndTerminal {
		t.Fatalf("%+v, %v", out, err)
	}
	for text, want := range map[string]string{
		"plain": "workspace", "tight": "workspace strict", "loose": "workspace", "item a": "workspace offline",
		"branch": "workspace offline strict",
		"child":  "workspace strict offline",
	} {
		if r.got[text] != want {
			t.Errorf("%s: %q, want %q", text, r.got[text], want)
		}
	}
	if name := confine.Name([]*confine.Policy{{Preset: confine.Offline}, {Preset: confine.Workspace}}); name !=
		confine.Workspace {
		t.Errorf("the name is %s", name)
	}
}
