package dirstore_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
)

var starts = flag.Int("starts", 20, "starts of one loop in TestStartsInOneSecond")

// The test binary is also the other processes of these tests: LOOPS_PERSISTENCE_CHILD says what one does.
func TestMain(m *testing.M) {
	if mode, root, ok := strings.Cut(os.Getenv("LOOPS_PERSISTENCE_CHILD"), " "); ok {
		child(mode, root)
		return
	}
	testenv.Parallel(8)
	if dir := testenv.TempDir(); dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func child(mode, root string) {
	ctx := context.Background()
	d, err := dirstore.Open(root)
	check(err)
	now := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	if mode == "wait" {
		p, err := persistence.ProjectQueue(root).Join(ctx,
			persistence.Waiter{Loop: "dies", Scope: []string{"/"}, Owner: persistence.Owner{PID: os.Getpid()}})
		check(err)
		fmt.Println(p.Waiter().ID)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until we are killed
		return
	}
	mode, count, _ := strings.Cut(mode, "=")
	n, _ := strconv.Atoi(count)
	for range max(1, n) {
		j, err := d.Create(ctx,
			persistence.Spec{
				Loop: "fix", StartedAt: now, Owner: persistence.Owner{PID: os.Getpid()},
				Scope: scopeOf(mode, root),
			})
		check(err)
		s := &fsm.Snapshot{Loop: "fix", Phase: fsm.PhaseActing, Current: "a", StartedAt: now}
		for n := 1; mode == "record"; n++ {
			s.Step = n
			check(j.Record(ctx,
				&fsm.Batch{
					Snapshot: s, Checkpoint: n%3 == 0,
					Events: []fsm.Event{{Kind: "state_enter"}, {Kind: "route"}},
				}))
			if n == 5 {
				fmt.Println(j.Run().ID)
			}
		}
		check(j.Record(ctx, &fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{{Kind: "state_enter"}}}))
		fmt.Println(j.Run().ID)
		if mode == "starts" {
			s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
			check(j.Record(ctx,
				&fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{{Kind: "loop_complete"}}}))
			check(j.Close(ctx))
		}
	}
	if mode == "hold" {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until we are killed
	}
}

func scopeOf(mode, root string) []string {
	if mode == "hold" {
		return []string{root}
	}
	return nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spawn starts a child and returns the first line it prints. The child is killed at the end of the test.
func spawn(t *testing.T, mode, root string) (*exec.Cmd, persistence.ID) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOPS_PERSISTENCE_CHILD="+mode+" "+root)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, persistence.ID(strings.TrimSpace(line))
}

// A process that is killed releases its run and its scope, and loses nothing it recorded.
func TestKilledOwner(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), ".loops")
	cmd, id := spawn(t, "hold", root)
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	spec := persistence.Spec{
		Loop: "other", Scope: []string{filepath.Join(root, "sub")},
		Owner: persistence.Owner{PID: os.Getpid()},
	}
	var held *persistence.HeldError
	var conflict *persistence.ConflictError
	for range 50 { // probing disturbs no process
		runs, err := d.Runs(t.Context(), persistence.Query{})
		if err != nil || len(runs) != 1 || !runs[0].Held || runs[0].Owner.PID != cmd.Process.Pid {
			t.Fatalf("%v, %+v", err, runs)
		}
	}
	if _, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"}); !errors.As(err, &held) ||
		held.Owner.PID != cmd.Process.Pid {
		t.Fatalf("error is %v, want a *HeldError", err)
	}
	if _, err := d.Create(t.Context(), spec); !errors.As(err, &conflict) || conflict.Holder != id ||
		conflict.Owner.PID != cmd.Process.Pid {
		t.Fatalf("error is %v, want a *ConflictError", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 || runs[0].Held || runs[0].Status != persistence.Running {
		t.Fatalf("%v, %+v", err, runs)
	}
	j, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatalf("the scope of the dead: %v", err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, s, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
	if err != nil || s.Current != "a" {
		t.Fatalf("%v, %+v", err, s)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A waiter that is killed leaves the line at that moment, and the next one that joins removes what it left behind.
func TestKilledWaiter(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), ".loops")
	cmd, id := spawn(t, "wait", root)
	q := persistence.ProjectQueue(root)
	w := persistence.Waiter{Loop: "next", Scope: []string{"/"}, Owner: persistence.Owner{PID: os.Getpid()}}
	p, err := q.Join(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if ahead, n := p.Behind(nil); ahead == nil || ahead.ID != string(id) || ahead.Owner.PID != cmd.Process.Pid ||
		n != 1 {
		t.Fatalf("behind %+v", ahead)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if ahead, _ := p.Behind(nil); ahead != nil {
		t.Errorf("behind a dead one: %+v", ahead)
	}
	line, err := q.Waiters()
	if err != nil || len(line) != 1 || line[0].Loop != "next" {
		t.Errorf("%v, %+v", err, line)
	}
	if err := q.Remove(t.Context(), string(id)); !errors.Is(err, persistence.ErrNotWaiting) {
		t.Errorf("removing a dead one: %v", err)
	}
	other, err := q.Join(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".queue", string(id)+".json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the dead one left: %v", err)
	}
	if err := errors.Join(p.Leave(), other.Leave()); err != nil {
		t.Error(err)
	}
}

// A process that is stopped keeps its run for as long as it is: it is not taken for dead, and no process takes
// the run over.
func TestPausedOwner(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), ".loops")
	cmd, id := spawn(t, "hold", root)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, status %v", err, status)
	}
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 || !runs[0].Held || runs[0].Status != persistence.Running {
		t.Fatalf("%v, %+v", err, runs)
	}
	var held *persistence.HeldError
	if _, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"}); !errors.As(err, &held) ||
		held.Owner.PID != cmd.Process.Pid {
		t.Errorf("resume: error is %v, want a *HeldError", err)
	}
	if err := d.Interrupt(t.Context(), id, time.Now(), "test"); !errors.As(err, &held) {
		t.Errorf("interrupt: error is %v, want a *HeldError", err)
	}
}

// Starts of one loop in one second, in several processes, are all kept.
func TestStartsInOneSecond(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), ".loops")
	var wg sync.WaitGroup
	const processes = 4
	each := *starts / processes
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("LOOPS_PERSISTENCE_CHILD=starts=%d %s", each, root))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != processes*each {
		t.Fatalf("%v, %d runs, want %d", err, len(runs), processes*each)
	}
	seen := map[persistence.ID]bool{}
	for _, r := range runs {
		if seen[r.ID] || !r.Archived || r.Status != persistence.Completed || len(r.Damage) > 0 {
			t.Errorf("run %+v", r)
		}
		seen[r.ID] = true
	}
}

// Killed at any moment, memory and events agree: two events a step.
func TestKilledWhileRecording(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		root := filepath.Join(t.TempDir(), ".loops")
		cmd, id := spawn(t, "record", root)
		testenv.Moment(i)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		d, err := dirstore.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := d.Runs(t.Context(), persistence.Query{})
		if err != nil || len(runs) != 1 || len(runs[0].Damage) > 0 {
			t.Fatalf("%v, %+v", err, runs)
		}
		j, s, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for e, err := range d.Events(t.Context(), id, 0) {
			if n++; err != nil || e.Seq != uint64(n) {
				t.Fatalf("event %d: %v, %+v", n, err, e)
			}
		}
		if s.Step < 5 || n != 2*s.Step || runs[0].Step != s.Step {
			t.Fatalf("step %d (listed %d) and %d events", s.Step, runs[0].Step, n)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
