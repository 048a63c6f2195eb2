package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
	"loops/persistence/storetest"
)

// A run that waits does not give up because the store cannot be asked for a moment, and reports that once.
func TestQueueOutlivesTroubleOfTheStore(t *testing.T) {
	t.Parallel()
	m := storetest.NewMemory()
	defer m.Close()
	var said []string
	owner, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spec := persistence.Spec{Loop: "fix", Scope: []string{dir}, Owner: owner}
	locked := &persistence.ConflictError{Holder: "other-1", Loop: "other", Owner: owner, Path: dir, Since: time.Now()}
	for _, c := range []struct {
		limit   time.Duration
		answers []error // of the store, one after the other; the last for ever
		want    string
		notes   int
	}{
		{time.Minute, []error{locked, persistence.ErrBusy, persistence.ErrBusy, nil}, "", 1},
		{time.Minute, []error{locked, persistence.ErrBusy, locked, persistence.ErrBusy, nil}, "", 2},
		{time.Hour, []error{locked, persistence.ErrBusy}, persistence.ErrBusy.Error(), 1},
		{time.Minute, []error{locked, errors.New("broken")}, "broken", 0},
	} {
		said = nil
		n := 0
		over := make(chan time.Time, 1)
		turn := turn{
			project: openIn(t, dir), store: &project.Records{Store: m}, spec: spec,
			lock: Lock{Queue: true, Limit: c.limit}, tell: func(n Notice) {
				if s, ok := n.(Said); ok {
					said = append(said, s.Text.String())
				}
			},
			over: over,
		}
		j, err := New(turn.project, Options{}).whenFree(t.Context(), turn, func() (persistence.Journal, error) {
			err := c.answers[min(n, len(c.answers)-1)]
			if n++; err != nil {
				if n == 2 && len(c.answers) == 2 {
					over <- time.Now() // the limit passes after the last answer
				}
				return nil, err
			}
			return m.Create(t.Context(), spec)
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			strings.Count(strings.Join(said, ""), "The run waits on") != c.notes {
			t.Errorf("%v: %q, and told\n%s", c.answers, got, said)
		}
	}
}

// A process that hangs with the lock of the queue does not keep others for longer than they want to wait.
func TestQueueTimeoutWhileItsLockIsHeld(t *testing.T) {
	t.Parallel()
	owner, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := openIn(t, dir)
	if err := os.MkdirAll(filepath.Join(p.Loops, ".queue"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(p.Loops, ".queue", ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	store := storetest.NewMemory()
	defer store.Close()
	turn := turn{
		project: p, store: &project.Records{Store: store},
		spec: persistence.Spec{Loop: "fix", Scope: []string{dir}, Owner: owner},
		lock: Lock{Queue: true, Limit: 50 * time.Millisecond}, tell: func(Notice) {},
	}
	_, err = New(turn.project, Options{}).whenFree(t.Context(), turn, func() (persistence.Journal, error) {
		return nil, &persistence.ConflictError{
			Holder: "other-1", Loop: "other", Owner: owner, Path: dir,
			Since: time.Now(),
		}
	})
	if busy, ok := errors.AsType[*BusyError](err); !ok || busy.Waited != 50*time.Millisecond {
		t.Errorf("%#v", err)
	}
}

// openIn opens the project of a folder, of which nothing is said but by its files.
func openIn(t *testing.T, dir string) *project.Project {
	t.Helper()
	p, err := project.Open(dir, project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A resume that waited does not continue with what the run remembered before another process resumed it.
func TestResumedMeanwhile(t *testing.T) {
	t.Parallel()
	m := storetest.NewMemory()
	defer m.Close()
	store := &project.Records{Store: m}
	j, err := m.Create(t.Context(), persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	record := func(j persistence.Journal) persistence.Run {
		t.Helper()
		snap := &fsm.Snapshot{Loop: "fix", Phase: fsm.PhaseActing, Current: "a", Step: 1}
		if err := j.Record(t.Context(),
			&fsm.Batch{Snapshot: snap, Checkpoint: true, Events: []fsm.Event{{Kind: "state_enter"}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs, err := m.Runs(t.Context(), persistence.Query{ID: j.Run().ID})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %+v", err, runs)
		}
		return runs[0]
	}
	run := record(j)
	if err := asItWas(t.Context(), store, run); err != nil {
		t.Errorf("nothing happened: %v", err)
	}
	again, _, err := m.Resume(t.Context(), run.ID, persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	record(again)
	err = asItWas(t.Context(), store, run)
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Kind != Conflict ||
		!strings.HasPrefix(err.Error(),
			"run "+string(run.ID)+" was resumed by another process while this command waited") {
		t.Error(err)
	}
}

func TestLockWaits(t *testing.T) {
	t.Parallel()
	conf := &config.Config{QueueTimeout: time.Hour}
	for _, c := range []struct {
		lock Lock
		conf *config.Config
		want time.Duration
	}{
		{Lock{Limit: -1}, conf, 0},
		{Lock{Queue: true, Limit: -1}, nil, 24 * time.Hour},
		{Lock{Queue: true, Limit: -1}, &config.Config{}, 24 * time.Hour},
		{Lock{Queue: true, Limit: -1}, conf, time.Hour},
		{Lock{Queue: true, Limit: time.Minute}, conf, time.Minute},
		{Lock{Queue: true}, conf, 0},
	} {
		if got := c.lock.waits(c.conf); got != c.want {
			t.Errorf("%+v: %v, want %v", c.lock, got, c.want)
		}
	}
}

// A run without a lock is recorded and owned as any other.
func TestNoLock(t *testing.T) {
	t.Parallel()
	spec := persistence.Spec{Loop: "fix", Scope: []string{"/p"}, Singleton: true, Owner: persistence.Owner{PID: 7}}
	Lock{None: true}.apply(&spec)
	if len(spec.Scope) > 0 || spec.Singleton || spec.Owner.PID != 7 || spec.Loop != "fix" {
		t.Errorf("%+v", spec)
	}
}
