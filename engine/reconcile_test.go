package engine

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/engine/project"
	"loops/persistence"
	"loops/reconcile"
)

// lifeLoop leaves a process in a session of its own, and acts until there is a file go.
const lifeLoop = `name: life
description: acts until it may end
initial: work
parameters: {dir: {type: string, required: true}}
scope: ["${context.dir}"]
states:
  work:
    action: "mkdir -p ${context.dir}; setsid sleep 300 & echo $! >${context.dir}/left; touch ${context.dir}/begun; until [ -e ${context.dir}/go ]; do sleep 0.1; done; kill $!"
    on_yes: done
    on_no: done
  done: {terminal: true}
`

// lifeStores are the stores that the tests of a run's life use, by the --store that means them.
var lifeStores = map[string]string{"files": "", "SQLite": "sqlite:runs.db"}

func lifeProject(t *testing.T, dir, store string) *project.Project {
	t.Helper()
	p, err := project.Open(dir, project.Options{Env: append(os.Environ(), "LOOPS_VERIFY=1"), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newLifeProject(t *testing.T, store string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, project.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, project.Folder, "life.yaml"), []byte(lifeLoop), 0o644); err != nil {
		t.Fatal(err)
	}
	return lifeProject(t, dir, store)
}

// lifeRunner makes this test binary a process that carries a run, which the tests below kill.
const lifeRunner = "LOOPS_TEST_LIFE_RUNNER"

func TestLifeRunner(t *testing.T) {
	t.Parallel()
	dir, store, here := strings.Cut(os.Getenv(lifeRunner), "\n")
	if !here {
		return // it is no test: it is started by the others
	}
	e := New(lifeProject(t, dir, store), Options{})
	r, err := e.Start(t.Context(), StartRequest{Loop: "life", Context: []string{"dir=dead"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("run " + string(r.ID()) + "\n")
	_, _ = r.Wait(t.Context())
}

// killedRun has a process carry a run and kills that process while the action runs. It returns the run, and the
// process that the action leaves.
func killedRun(ctx context.Context, t *testing.T, p *project.Project) (persistence.ID, int) {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestLifeRunner$")
	cmd.Env = append(os.Environ(), lifeRunner+"="+p.Dir+"\n"+p.Store)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	id, is := strings.CutPrefix(strings.TrimSpace(line), "run ")
	if err != nil || !is {
		_ = cmd.Process.Kill()
		t.Fatalf("the runner says %q, %v", line, err)
	}
	await(ctx, t, filepath.Join(p.Dir, "dead", "begun"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	text, err := os.ReadFile(filepath.Join(p.Dir, "dead", "left"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return persistence.ID(id), left
}

// liveRun starts a run of this process, whose action runs.
func liveRun(ctx context.Context, t *testing.T, e *Engine) *Run {
	t.Helper()
	r, err := e.Start(ctx, StartRequest{Loop: "life", Context: []string{"dir=live"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, filepath.Join(e.p.Dir, "live", "begun"))
	return r
}

func letEnd(ctx context.Context, t *testing.T, e *Engine, r *Run) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.p.Dir, "live", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result, err := r.Wait(ctx); err != nil || result.Outcome.FinalState != "done" {
		t.Errorf("the run that was alive: %+v, %v", result, err)
	}
}

// recordedAs is what the store says of a run, with the status that is recorded.
func recordedAs(ctx context.Context, t *testing.T, e *Engine, id persistence.ID) (persistence.Run, bool) {
	t.Helper()
	store, err := e.p.Records(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	runs, err := store.Runs(ctx, persistence.Query{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return persistence.Run{}, false
	}
	return runs[0], true
}

// A run whose process was killed is recorded as interrupted, what its action left is ended, and observers are notified;
// a run that is alive stays as it is, and one that was not named too.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, location := range lifeStores {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			e := New(newLifeProject(t, location), Options{})
			var told []reconcile.Change
			e.Observe(ObserverFunc(func(n Notice) {
				if r, ok := n.(Reconciled); ok {
					told = append(told, r.Changes...)
				}
			}))
			alive := liveRun(ctx, t, e)
			dead, left := killedRun(ctx, t, e.p)
			plan, err := e.PlanReconcile(ctx)
			if err != nil || len(plan) != 1 || plan[0].ID != dead || plan[0].Kind != reconcile.Interrupt {
				t.Errorf("the plan: %+v, %v", plan, err)
			}
			if changes, err := e.Reconcile(ctx, alive.ID(), "life-20260101T000000"); err != nil || len(changes) != 0 {
				t.Errorf("of other runs: %+v, %v", changes, err)
			}
			if r, _ := recordedAs(ctx, t, e, dead); r.Status != persistence.Running {
				t.Errorf("it was not asked for, and is recorded as %s", r.Status)
			}
			changes, err := e.Reconcile(ctx)
			if err != nil || len(changes) != 1 || changes[0].ID != dead || changes[0].Kind != reconcile.Interrupt {
				t.Errorf("%+v, %v", changes, err)
			}
			if r, _ := recordedAs(ctx, t, e, dead); r.Status != persistence.Interrupted || !r.Resumable {
				t.Errorf("it is recorded as %s", r.Status)
			}
			if err := syscall.Kill(left, 0); err == nil && running(left) {
				t.Error("what its action left still runs")
			}
			if r, _ := recordedAs(ctx, t, e, alive.ID()); r.Status != persistence.Running {
				t.Errorf("the run that is alive is recorded as %s", r.Status)
			}
			if again, err := e.Reconcile(ctx); err != nil || len(again) != 0 {
				t.Errorf("once more: %+v, %v", again, err)
			}
			letEnd(ctx, t, e, alive)
			e.Close()
			if len(told) != 1 || told[0].ID != dead {
				t.Errorf("told: %+v", told)
			}
		})
	}
}

// running reports whether a process is there and is not a zombie that its parent has not waited for.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !slices.Contains([]string{"Z", "X"}, fields[0])
}
