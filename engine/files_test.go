package engine_test

import (
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

// dying is what keeps the files of a run whose process dies at a call of Keep, before or after it is done.
type dying struct {
	engine.Files
	calls, at int
	after     bool
}

var errDead = errors.New("it died")

func (d *dying) Keep(ctx context.Context) (string, error) {
	if d.calls++; d.calls == d.at && !d.after {
		return "", errDead
	}
	state, err := d.Files.Keep(ctx)
	if d.calls == d.at {
		return "", errDead
	}
	return state, err
}

// Wherever a worker dies, files and memory agree on the next one: what an action that is repeated did before is
// not there.
func TestFilesTravel(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	runGit := git.Command(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none", "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false"), 0)
	must := func(dir string, args ...string) string {
		t.Helper()
		out, err := runGit(ctx, dir, nil, args...)
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	remote, work := filepath.Join(t.TempDir(), "remote.git"), t.TempDir()
	must(work, "init", "-q", "--bare", remote)
	must(remote, "config", "receive.autogc", "false")
	must(work, "init", "-q")
	if err := os.Mkdir(filepath.Join(work, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".loops/travel.yaml": travelLoop, "log.txt": "", ".gitignore": ".loops/*\n!.loops/travel.yaml\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(work, "add", "-A")
	must(work, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "base")
	must(work, "push", "-q", remote, "HEAD:refs/heads/main")
	base := must(work, "rev-parse", "HEAD")

	state := "XDG_STATE_HOME=" + t.TempDir()
	store := "sqlite:" + filepath.Join(t.TempDir(), "runs.db")
	machines := []string{t.TempDir(), t.TempDir()}
	// carry has a machine carry a run ("" = a new one) until it ends.
	carry := func(name, machine, id, commit string, at int, after bool) (string, error) {
		t.Helper()
		m, err := git.OpenMirror(ctx, runGit, machine, remote)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := m.Tree(ctx, name, commit, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		p, err := project.Open(tree.Dir, project.Options{Store: store, Env: append(os.Environ(), "EMAIL=t@localhost", state)})
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(p, engine.Options{Env: append(os.Environ(), "LOOPS_VERIFY=1", "EMAIL=t@localhost"), Files: func(persistence.ID) engine.Files { return &dying{tree, 0, at, after} }})
		defer e.Close()
		request := engine.Request{Start: &engine.StartRequest{Loop: "travel"}}
		if id != "" {
			request = engine.Request{Resume: &engine.ResumeRequest{Run: id, Here: true}}
		}
		run, err := e.Carry(ctx, request, nil)
		if run == nil {
			t.Fatal(err)
		}
		if err == nil {
			_, err = run.Wait(ctx)
		}
		return string(run.ID()), err
	}
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
			id, err := carry(tree, machines[0], "", base, at, after)
			if (at == 0) != (err == nil) || err != nil && !errors.Is(err, errDead) {
				t.Fatalf("%s: %v", name, err)
			}
			if err != nil {
				if _, is := errors.AsType[*engine.FilesError](err); !is || !strings.Contains(err.Error(), "See that their repository can be reached") {
					t.Errorf("%s: it says %v", name, err)
				}
				p, err := project.Open(work, project.Options{Store: store})
				if err != nil {
					t.Fatal(err)
				}
				p.Admit(persistence.ID(id), false) // it is the run of the tree
				records, err := p.Records(ctx, false)
				if err != nil {
					t.Fatal(err)
				}
				recorded, err := engine.RecordedFiles(ctx, records.Store, persistence.ID(id))
				if err != nil {
					t.Fatal(err)
				}
				if err := records.Close(); err != nil {
					t.Fatal(err)
				}
				if recorded.State == "" {
					recorded.State = base
				}
				if _, err := carry(tree, machines[1], id, recorded.State, 0, false); err != nil {
					t.Fatalf("%s: resumed: %v", name, err)
				}
			}
			for file, want := range map[string]string{"log.txt": "one\ntwo\na\nb", "count.txt": "4"} {
				if got := strings.TrimSpace(must(remote, "show", git.RefOf(tree)+":"+file)); got != want {
					t.Errorf("%s: %s has %q, want %q", name, file, got, want)
				}
			}
		}
	}
}
