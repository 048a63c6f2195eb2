package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/testenv"
	"loops/persistence"
)

// Each action adds a line, and the last one a line of what is in the list then.
const travelLoop = `name: travel
description: changes files
initial: one
states:
  one: {action: "echo one >>log.txt", next: two}
  two: {action: "echo two >>log.txt", next: each}
  each: {for_each: [a, b], action: "echo ${item.value} >>log.txt", on_yes: last, on_no: last}
  last: {action: "wc -l <log.txt >count.txt", next: done}
  done: {terminal: true}
`

// dying is what keeps the files of a run whose process dies at a call of Keep, before or after it is done, or
// that meets an error there.
type dying struct {
	engine.Files
	calls, at int
	after     bool
	err       error
}

var errDead = errors.New("it died")

func (d *dying) Keep(ctx context.Context) (string, error) {
	if d.calls++; d.calls == d.at && !d.after {
		return "", d.err
	}
	state, err := d.Files.Keep(ctx)
	if d.calls == d.at {
		return "", d.err
	}
	return state, err
}

// travels are machines on which runs of travelLoop have their files in a repository.
type travels struct {
	t            *testing.T
	runGit       git.RunEnv
	remote, work string
	base         string // the commit with which runs begin
	state, store string
	machines     []string
}

func newTravels(t *testing.T) travels {
	t.Helper()
	testenv.Command(t, "git")
	f := travels{
		t: t, remote: filepath.Join(t.TempDir(), "remote.git"), work: t.TempDir(),
		state: "XDG_STATE_HOME=" + t.TempDir(),
		store: "sqlite:" + filepath.Join(t.TempDir(), "runs.db"), machines: []string{t.TempDir(), t.TempDir()},
		runGit: git.Command(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none", "GIT_CONFIG_KEY_1=maintenance.auto",
			"GIT_CONFIG_VALUE_1=false"), 0),
	}
	f.git(f.work, "init", "-q", "--bare", f.remote)
	f.git(f.remote, "config", "receive.autogc", "false")
	f.git(f.work, "init", "-q")
	if err := os.Mkdir(filepath.Join(f.work, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".loops/travel.yaml": travelLoop, "log.txt": "",
		".gitignore": ".loops/*\n!.loops/travel.yaml\n",
	} {
		if err := os.WriteFile(filepath.Join(f.work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.git(f.work, "add", "-A")
	f.git(f.work, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "base")
	f.git(f.work, "push", "-q", f.remote, "HEAD:refs/heads/main")
	f.base = f.git(f.work, "rev-parse", "HEAD")
	return f
}

func (f travels) git(dir string, args ...string) string {
	f.t.Helper()
	out, err := f.runGit(f.t.Context(), dir, nil, args...)
	if err != nil {
		f.t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// carry has a machine carry a run ("" = a new one) until it ends.
func (f travels) carry(ctx context.Context, name, machine, id, commit string, with dying) (string, engine.Result,
	error,
) {
	f.t.Helper()
	m, err := git.OpenMirror(ctx, f.runGit, machine, f.remote)
	if err != nil {
		f.t.Fatal(err)
	}
	tree, err := m.Tree(ctx, name, commit, nil, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer tree.Close()
	p, err := project.Open(tree.Dir,
		project.Options{Store: f.store, Env: append(os.Environ(), "EMAIL=t@localhost", f.state)})
	if err != nil {
		f.t.Fatal(err)
	}
	with.Files = tree
	e := engine.New(p, engine.Options{
		Env:   append(os.Environ(), "LOOPS_VERIFY=1", "EMAIL=t@localhost"),
		Files: func(persistence.ID) engine.Files { return &with },
	})
	defer e.Close()
	request := engine.Request{Start: &engine.StartRequest{Loop: "travel"}}
	if id != "" {
		request = engine.Request{Resume: &engine.ResumeRequest{Run: id, Here: true}}
	}
	run, err := e.Carry(ctx, request, nil)
	if run == nil {
		f.t.Fatal(err)
	}
	var result engine.Result
	if err == nil {
		result, err = run.Wait(ctx)
	}
	return string(run.ID()), result, err
}

// recorded returns the commit of the files of a run that is on record.
func (f travels) recorded(ctx context.Context, id string) string {
	f.t.Helper()
	p, err := project.Open(f.work, project.Options{Store: f.store})
	if err != nil {
		f.t.Fatal(err)
	}
	p.Admit(persistence.ID(id), false) // it is the run of the tree
	records, err := p.Records(ctx, false)
	if err != nil {
		f.t.Fatal(err)
	}
	recorded, err := engine.RecordedFiles(ctx, records.Store, persistence.ID(id))
	if err = errors.Join(err, records.Close()); err != nil {
		f.t.Fatal(err)
	}
	return cmp.Or(recorded.State, f.base)
}

// ended checks the files of a run that has ended.
func (f travels) ended(name, tree string) {
	f.t.Helper()
	for file, want := range map[string]string{"log.txt": "one\ntwo\na\nb", "count.txt": "4"} {
		if got := strings.TrimSpace(f.git(f.remote, "show", git.RefOf(tree)+":"+file)); got != want {
			f.t.Errorf("%s: %s has %q, want %q", name, file, got, want)
		}
	}
}

// Wherever a worker dies, files and memory agree on the next one: what an action that is repeated did before is
// not there.
func TestFilesTravel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	f := newTravels(t)
	for at := range 7 {
		for _, after := range []bool{false, true} {
			if at == 0 && after {
				continue // it does not die
			}
			// The first call is before anything was recorded, and the others of the short form are in a list.
			if short := at < 2 && !after || at == 4 && after || at == 5 && !after; !short && !*testenv.Torture {
				continue
			}
			name := fmt.Sprintf("at %d, after: %v", at, after)
			tree := fmt.Sprintf("t%d%v", at, after)
			id, _, err := f.carry(ctx, tree, f.machines[0], "", f.base, dying{at: at, after: after, err: errDead})
			if (at == 0) != (err == nil) || err != nil && !errors.Is(err, errDead) {
				t.Fatalf("%s: %v", name, err)
			}
			if err != nil {
				if _, is := errors.AsType[*engine.FilesError](err); !is ||
					!strings.Contains(err.Error(), "See that their repository can be reached") {
					t.Errorf("%s: it says %v", name, err)
				}
				if _, _, err := f.carry(ctx, tree, f.machines[1], id, f.recorded(ctx, id), dying{}); err != nil {
					t.Fatalf("%s: resumed: %v", name, err)
				}
			}
			f.ended(name, tree)
		}
	}
}

// A run whose files the repository refuses, because the login of git expired, is suspended where it was recorded last,
// wherever that is: in a state, in a list, before its first state. It is suspended again while that lasts, and
// then continues without a step, or a line in a file, too many.
func TestFilesRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	f := newTravels(t)
	refused := &git.AwayError{
		Remote: "https://me@git.example/x.git",
		Err:    errors.New("fatal: Authentication failed for 'https://git.example/x.git/'"), Refused: true,
	}
	for at := 1; at < 7; at++ {
		if !*testenv.Torture && at != 1 && at != 2 && at != 4 {
			continue
		}
		name, tree := fmt.Sprintf("at %d", at), fmt.Sprintf("r%d", at)
		id, first, err := f.carry(ctx, tree, f.machines[0], "", f.base, dying{at: at, err: refused})
		for range 2 {
			o := first.Outcome
			if err != nil || o.TerminatedBy != fsm.EndSuspended || o.SuspendedBy != "git:git.example" || !o.Refused {
				t.Fatalf("%s: %v, %+v", name, err, o)
			}
			if !strings.Contains(o.Error,
				"the files of the run cannot be kept: the repository https://me@git.example/x.git refuses "+
					"the login of git") ||
				!strings.HasPrefix(o.Remedy, "give git a login for git.example") || o.Reason == "" {
				t.Errorf("%s: it says %q and %q, and the reason is %q", name, o.Error, o.Remedy, o.Reason)
			}
			_, first, err = f.carry(ctx, tree, f.machines[0], id, f.recorded(ctx, id), dying{at: 1, err: refused})
		}
		_, last, err := f.carry(ctx, tree, f.machines[1], id, f.recorded(ctx, id), dying{})
		if err != nil || last.Outcome.TerminatedBy != fsm.EndTerminal || last.Outcome.Steps != 4 {
			t.Fatalf("%s: resumed: %v, %+v", name, err, last.Outcome)
		}
		f.ended(name, tree)
	}
}
