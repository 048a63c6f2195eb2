package notify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
)

// A program that embeds the engine notifies as the command line does: of each run of the engine from its
// beginning to its end, with the commands that a user can give.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]string{"files": "", "SQLite": "sqlite:runs.db"} {
		t.Run(name, func(t *testing.T) {
			p := embedded(t, store)
			n := New(p, Options{ExitCode: func(o fsm.Outcome) int { return o.Steps }})
			e := engine.New(p, engine.Options{})
			n.Follow(e)
			for range 2 { // one after the other, so that the lines have an order
				r, err := e.Start(t.Context(), engine.StartRequest{Loop: "capped"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			e.Close()
			results, err := n.Close(t.Context())
			if err != nil || len(results) != 4 {
				t.Errorf("%+v, %v", results, err)
			}
			told, err := os.ReadFile(filepath.Join(p.Dir, "told"))
			if err != nil {
				t.Fatal(err)
			}
			id := results[0].Event.Run
			want := "started|" + id + "|||\n" + "capped|" + id + "|two|1|resume " + id + " with extend steps=1\n"
			if !strings.HasPrefix(string(told), want) {
				t.Errorf("told\n%swant\n%s", told, want)
			}
			log, err := os.ReadFile(filepath.Join(p.LogsDir(), "notify.log"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(log)) {
				var l struct{ Delivered bool }
				if err := json.Unmarshal([]byte(line), &l); err != nil || !l.Delivered {
					t.Errorf("the log has %s, %v", line, err)
				}
			}
			if strings.Count(string(log), "\n") != 4 {
				t.Errorf("the log has\n%s", log)
			}
		})
	}
}

// A run that an action of another run starts sends no notifications: it is part of what that run does.
func TestInsideAnAction(t *testing.T) {
	t.Parallel()
	p := embedded(t, "")
	env := append(os.Environ(), engine.EnvAncestors+"=x/y-1")
	n := New(p, Options{Env: env})
	if n != nil {
		t.Fatal("it tells")
	}
	e := engine.New(p, engine.Options{})
	n.Follow(e)
	e.Close()
	if results, err := n.Close(t.Context()); len(results) != 0 || err != nil {
		t.Errorf("%v, %v", results, err)
	}
	if New(p, Options{Env: env, Detached: true}) == nil {
		t.Error("one that may outlive the action does not tell")
	}
}

func embedded(t *testing.T, store string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, project.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"capped.yaml": "name: capped\ndescription: a case\ninitial: one\nmax_steps: 1\nstates:\n" +
			"  one: {action: echo 1, next: two}\n  two: {action: echo 2, next: done}\n  done: {terminal: true}\n",
		"config.yaml": "notify:\n  - command: echo " +
			"\"$LOOPS_NOTIFY_EVENT|$LOOPS_NOTIFY_RUN|$LOOPS_NOTIFY_STATE|" +
			"$LOOPS_NOTIFY_EXIT_CODE|$LOOPS_NOTIFY_RESUME\" >>told\n    on: [started, capped]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, project.Folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Open(dir, project.Options{Env: os.Environ(), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
