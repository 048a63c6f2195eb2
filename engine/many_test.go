package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// In each directory: what the run is to do there. A file "go" lets it continue.
const manyLoop = `name: many
description: works in a directory of its own
initial: work
parameters: {dir: {type: string, required: true}}
scope: ["${context.dir}"]
states:
  work: {action: "mkdir -p ${context.dir}; echo x >>${context.dir}/begun; until [ -e ${context.dir}/go ]; do sleep 0.2; done", on_yes: after, on_no: failed, on_error: failed}
  after: {action: "echo x >>${context.dir}/ended", on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`

// Fifty runs of one process work side by side: one is stopped, the action of one is killed, one is paused and
// let continue, one observer panics and one is slow; each run ends as it should, and nothing of them is left.
func TestFiftyRuns(t *testing.T) {
	// Not parallel: the test counts the goroutines of the process.
	const n, stopped, killed, paused = 50, 7, 8, 9
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops", "many.yaml"), []byte(manyLoop), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{Env: append(os.Environ(), "LOOPS_VERIFY=1")})
	if err != nil {
		t.Fatal(err)
	}
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	e := New(p, Options{})
	e.Observe(ObserverFunc(func(Notice) { panic("an observer") }))
	var mu sync.Mutex
	last := map[persistence.ID]uint64{}
	e.Observe(ObserverFunc(func(n Notice) {
		mu.Lock()
		defer mu.Unlock()
		if r, ok := n.(Recorded); ok {
			if r.Event.Seq <= last[r.Run] {
				t.Errorf("run %s: event %d is told after %d", r.Run, r.Event.Seq, last[r.Run])
			}
			last[r.Run] = r.Event.Seq
		}
	}))
	runs := make([]*Run, n)
	for i := range runs {
		runs[i], err = e.Start(ctx, StartRequest{Loop: "many", Context: []string{fmt.Sprintf("dir=d%02d", i)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Start(ctx, StartRequest{Loop: "many", Context: []string{"dir=d00"}}, nil); err == nil {
		t.Error("a run begins whose files another one has locked")
	}
	for i := range runs {
		await(ctx, t, filepath.Join(dir, fmt.Sprintf("d%02d", i), "begun"))
	}
	control := func(i int, kind persistence.CommandKind) {
		t.Helper()
		if _, err := e.Control(ctx, runs[i].ID(), Command{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	control(paused, persistence.CommandPause)
	control(stopped, persistence.CommandStop)
	runs[killed].Kill()
	for i := range runs {
		if i == stopped || i == killed {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%02d", i), "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range runs {
		if i == paused {
			continue
		}
		result, err := r.Wait(ctx)
		if err != nil {
			t.Errorf("run %d: %v", i, err)
			continue
		}
		want := fsm.Outcome{TerminatedBy: fsm.EndTerminal, FinalState: "done"}
		switch i {
		case stopped:
			want = fsm.Outcome{TerminatedBy: fsm.EndUserStopped, FinalState: "work"}
		case killed:
			want.FinalState = "failed" // by on_no: it was killed
		}
		if o := result.Outcome; o.TerminatedBy != want.TerminatedBy || o.FinalState != want.FinalState ||
			o.Signal != want.Signal {
			t.Errorf("run %d: %+v, want %+v", i, o, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "d09", "ended")); err == nil {
		t.Error("the paused run entered a state")
	}
	control(paused, persistence.CommandUnpause)
	if result, err := runs[paused].Wait(ctx); err != nil || result.Outcome.FinalState != "done" {
		t.Errorf("the paused run: %+v, %v", result, err)
	}
	e.Close()
	if len(last) != n {
		t.Errorf("%d runs were told of", len(last))
	}
	if !testenv.Within(testenv.Patience, func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && descriptors(t) <= files+2
	}) {
		t.Fatalf("%d goroutines, before %d; %d descriptors, before %d", runtime.NumGoroutine(), goroutines,
			descriptors(t), files)
	}
	resumed, err := New(p, Options{}).Resume(ctx, ResumeRequest{Run: string(runs[stopped].ID())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d07", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result, err := resumed.Wait(ctx); err != nil || result.Outcome.FinalState != "done" {
		t.Errorf("the run that was stopped, resumed: %+v, %v", result, err)
	}
}

// await waits until a file is there.
func await(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	testenv.Wait(t, path, func() bool {
		_, err := os.Stat(path)
		return err == nil || ctx.Err() != nil
	})
	if ctx.Err() != nil {
		t.Fatalf("%s never came", path)
	}
}

// descriptors is how many files this process has open, 0 where that is not known.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
