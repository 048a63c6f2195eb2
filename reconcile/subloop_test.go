package reconcile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/process"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/storetest"
	"loops/reconcile"
)

// The runner died while an action two sub-loops down was at work. What is left of that action is ended before
// the run is interrupted, and only that: not what an action further out, or an earlier one, left running on
// purpose.
func TestApplyEndsWhatIsLeftInsideSubLoops(t *testing.T) {
	t.Parallel()
	dir, err := dirstore.Open(filepath.Join(t.TempDir(), ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]persistence.Store{"Dir": dir, "Memory": storetest.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			defer s.Close()
			j, err := s.Create(t.Context(), persistence.Spec{Loop: "outer", StartedAt: now})
			if err != nil {
				t.Fatal(err)
			}
			inner := &fsm.Snapshot{
				Loop: "inner", Phase: fsm.PhaseActing, Current: "a", Step: 4, Attempt: 2,
				StartedAt: now,
			}
			middle := &fsm.Snapshot{
				Loop: "middle", Phase: fsm.PhaseActing, Current: "call", Step: 3, Attempt: 1,
				StartedAt: now, Child: &fsm.Child{Name: "inner", Memory: inner},
			}
			outer := &fsm.Snapshot{
				Loop: "outer", Phase: fsm.PhaseActing, Current: "call", Step: 1, Attempt: 1,
				StartedAt: now, Child: &fsm.Child{Name: "middle", Memory: middle},
			}
			if err := j.Record(t.Context(),
				&fsm.Batch{
					Snapshot: outer, Checkpoint: true,
					Events: []fsm.Event{{Kind: "state_enter", Time: now, Depth: 2}},
				}); err != nil {
				t.Fatal(err)
			}
			id := j.Run().ID
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}

			variable := fmt.Sprintf("LOOPS_RECONCILE_TEST_%d", os.Getpid())
			gone := sleeper(t, variable, "0/"+string(id)+"/1/1/3/1/4/2")
			var stay []<-chan struct{}
			for _, mark := range []string{"/1/1", "/1/1/3/1", "/1/1/3/1/4/1", "/1/1/3/1/4/2/1/1", "/4/2"} {
				stay = append(stay, sleeper(t, variable, "0/"+string(id)+mark))
			}
			runs, err := s.Runs(t.Context(), persistence.Query{})
			if err != nil {
				t.Fatal(err)
			}
			done, err := reconcile.Apply(t.Context(), s, reconcile.Plan(runs, reconcile.Alive, now),
				func(marker string) (int, error) {
					found, err := process.Marked(variable, marker)
					if err != nil {
						return 0, err
					}
					return process.End(t.Context(), found, testenv.Patience)
				})
			if err != nil || len(done) != 1 {
				t.Fatalf("%v, done %+v", err, done)
			}
			runs, err = s.Runs(t.Context(), persistence.Query{})
			if err != nil || len(runs) != 1 ||
				runs[0].Why != "no process owns it; a process of its action was ended" || !runs[0].Resumable {
				t.Errorf("%v, runs %+v", err, runs)
			}
			select {
			case <-gone:
			case <-time.After(testenv.Patience):
				t.Error("the action goes on")
			}
			for i, c := range stay {
				select {
				case <-c:
					t.Errorf("process %d was ended, too", i+1)
				default:
				}
			}
		})
	}
}

// sleeper starts a process with a marker in its environment. The channel is closed when it is over, which is at the
// end of the test at the latest.
func sleeper(t *testing.T, variable, marker string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	cmd.Env = append(os.Environ(), variable+"="+marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
	})
	return over
}
