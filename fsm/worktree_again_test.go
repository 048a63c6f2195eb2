package fsm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence/snapshot"
)

// A gitRunner runs scripts in a repository. It holds the run after the nth work tree was made.
type gitRunner struct {
	dir, home string
	made, nth int
	held      chan struct{}
}

func (r *gitRunner) Run(ctx context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", a.Text)
	if cmd.Dir = a.Dir; cmd.Dir == "" {
		cmd.Dir = r.dir
	}
	cmd.Env = append(os.Environ(), "HOME="+r.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	_ = cmd.Run()
	if strings.HasPrefix(a.Git, "making the work tree") {
		if r.made++; r.made == r.nth {
			r.held = make(chan struct{})
		}
	}
	return fsm.Result{Stdout: out.String(), Stderr: bad.String(), ExitCode: cmd.ProcessState.ExitCode()}, nil
}

// A pausedMemory keeps what was recorded last, and reports an error once the run is paused.
type pausedMemory struct {
	memory []byte
	paused bool
}

func (r *pausedMemory) Record(_ context.Context, b *fsm.Batch) error {
	if b.Snapshot != nil {
		whole, err := snapshot.NewEncoder(nil).Whole(b.Snapshot)
		if err != nil {
			return err
		}
		r.memory = slices.Clone(whole)
	}
	for _, ev := range b.Events {
		if ev.Get("message") == "paused" {
			r.paused = true
			return errors.New("the process died")
		}
	}
	return nil
}

// A work tree in which an earlier visit left what it did not commit was made again, and all of that was lost, when the
// run was paused before the next visit did anything and its process died then.
func TestKeptWorkTreeSurvivesADeathBeforeTheNextVisit(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	script := "git init -q -b trunk && git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m " +
		"start && git branch side"
	init := exec.Command("bash", "-c", script)
	init.Dir, init.Env = dir, append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inner := &fsm.Loop{Name: "inner", Initial: "add", MaxSteps: 9, MaxEdgeRevisits: 9, States: map[string]*fsm.State{
		"add":  {Name: "add", Action: "echo line >> work", Next: "done", On: map[string]string{}},
		"done": {Name: "done", Terminal: true, On: map[string]string{}},
	}}
	visit := func(name, next string) *fsm.State {
		return &fsm.State{Name: name, Loop: "inner", Worktree: "side", On: map[string]string{"yes": next}}
	}
	outer := &fsm.Loop{Name: "outer", Initial: "one", MaxSteps: 9, MaxEdgeRevisits: 9, States: map[string]*fsm.State{
		"one": visit("one", "two"), "two": visit("two", "done"),
		"done": {Name: "done", Terminal: true, On: map[string]string{}},
	}}
	runner, rec := &gitRunner{dir: dir, home: home, nth: 2}, &pausedMemory{}
	cfg := fsm.Config{
		Loop: outer, Dir: dir, World: fsm.World{Runner: runner, Files: realFiles{}, Library: oneLoop{inner}},
		Journal: fsm.Journal{Recorder: rec, Verify: true},
		Control: fsm.Control{Held: func() <-chan struct{} { return runner.held }},
	}
	if out, err := fsm.Start(cfg, value.NewMap(), time.Now()).Run(t.Context()); err == nil || !rec.paused {
		t.Fatalf("the run did not pause: %+v %v", out, err)
	}
	runner.held = nil
	var d snapshot.Decoder
	if err := d.Whole(rec.memory); err != nil {
		t.Fatal(err)
	}
	mem, err := d.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := fsm.Resume(cfg, mem).Run(t.Context())
	if err != nil || out.TerminatedBy != fsm.EndTerminal {
		t.Fatalf("%+v %v", out, err)
	}
	trees, _ := filepath.Glob(filepath.Join(dir, ".worktrees", "*", "work"))
	if len(trees) != 1 {
		t.Fatalf("%d work trees have the file", len(trees))
	}
	if text, err := os.ReadFile(trees[0]); err != nil || string(text) != "line\nline\n" {
		t.Errorf("the file of both visits has %q, %v", text, err)
	}
}

type realFiles struct{ noFiles }

func (realFiles) Stat(name string) (time.Time, int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}, 0, err
	}
	return info.ModTime(), info.Size(), nil
}

// A oneLoop is a library with one loop.
type oneLoop struct{ loop *fsm.Loop }

func (l oneLoop) Loop(string, *fsm.Loop) (*fsm.Loop, error) { return l.loop, nil }
