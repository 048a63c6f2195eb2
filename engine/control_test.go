package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

const commandedLoop = `name: commanded
description: acts until a user makes a file
initial: work
max_steps: 1
states:
  work: {action: "touch begun; until [ -e go ]; do sleep 0.02; done", on_yes: done, on_no: work, on_error: work}
  done: {terminal: true}
`

// commanded opens a project with that loop, whose runs are recorded in files, or in a database of SQLite.
func commanded(t *testing.T, store string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops", "commanded.yaml"), []byte(commandedLoop), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{Env: append(os.Environ(), "LOOPS_VERIFY=1", "LOOPS_STORE="+store)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A stop that was sent as a run ended stopped its next resume: it is for one segment of the run.
func TestStopOfAnotherSegment(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(strings.Split(store, ":")[0], func(t *testing.T) {
			p := commanded(t, store)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e := New(p, Options{})
			defer e.Close()
			run, err := e.Start(ctx, StartRequest{Loop: "commanded"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			await(ctx, t, filepath.Join(p.Dir, "begun"))
			records, err := e.Records(ctx)
			if err != nil {
				t.Fatal(err)
			}
			// No process wakes the owner, which has ended by its cap, or reads it just then.
			if _, err := records.Send(ctx, run.ID(), persistence.Command{Kind: persistence.CommandStop}); err != nil {
				t.Fatal(err)
			}
			run.Kill()
			if r, err := run.Wait(ctx); err != nil || r.Outcome.TerminatedBy != fsm.EndMaxSteps &&
				r.Outcome.TerminatedBy != fsm.EndUserStopped {
				t.Fatalf("%+v, %v", r, err)
			}
			if _, err := e.Control(ctx, run.ID(), Command{Kind: persistence.CommandStop}); err == nil {
				t.Error("a run that has ended was stopped")
			}
			over := ResumeRequest{Run: string(run.ID())}
			over.Over.MaxSteps = 9
			resumed, err := e.Resume(ctx, over, nil)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * databaseLook) // it has looked
			if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := resumed.Wait(ctx); err != nil || r.Outcome.FinalState != "done" {
				t.Errorf("resumed: %+v, %v", r, err)
			}
		})
	}
}

// Another engine, as that of another process would, stops a run of this one, which looks for commands by itself.
func TestControlFromAnotherEngine(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(strings.Split(store, ":")[0], func(t *testing.T) {
			p := commanded(t, store)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e, other := New(p, Options{}), New(p, Options{})
			defer e.Close()
			defer other.Close()
			run, err := e.Start(ctx, StartRequest{Loop: "commanded"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			effect, err := other.Ask(ctx, run.ID(), Command{Kind: persistence.CommandKill})
			if err != nil || effect.Run.Status != persistence.UserStopped || effect.Killed || effect.Unrecorded != nil {
				t.Errorf("%+v, %v", effect, err)
			}
			if r, err := run.Wait(ctx); err != nil || r.Outcome.TerminatedBy != fsm.EndUserStopped ||
				r.Next.Operation == "" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
