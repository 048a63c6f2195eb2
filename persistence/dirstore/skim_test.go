package dirstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// TestSkim: a listing says of an archived run what the whole of its state says, without its captures.
func TestSkim(t *testing.T) {
	t.Parallel()
	d := archive(t, t.TempDir(), 1)
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	p, err := d.find(runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	p.id = runs[0].ID
	l, err := p.load(false)
	if err != nil {
		t.Fatal(err)
	}
	l.runID = runs[0].RunID
	whole := p.run(l)
	whole.Damage, whole.Options, whole.Version = runs[0].Damage, runs[0].Options, runs[0].Version
	if a, b := fmt.Sprintf("%+v", whole), fmt.Sprintf("%+v", runs[0]); a != b {
		t.Errorf("the list says\n%s\nand the run\n%s", b, a)
	}
	state, err := os.ReadFile(p.state)
	if err != nil {
		t.Fatal(err)
	}
	if part := skim(state); strings.Contains(string(part), "xxxx") || len(part) > len(state)/10 {
		t.Errorf("%d of %d bytes are left", len(part), len(state))
	}
	for _, other := range []string{"", "{}", "{\n  \"check\": \"\"\n}", "{\"captured\": 1}"} {
		if got := string(skim([]byte(other))); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

// archive makes a store with runs in its archive that captured two texts of 50 KB each, which the state file holds.
func archive(t testing.TB, dir string, n int) *Store {
	d, err := Open(filepath.Join(dir, ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	d.Durability = persistence.None
	long := strings.Repeat("xxxx yyyy\n", 200)
	for i := range n {
		j, err := d.Create(t.Context(),
			persistence.Spec{Loop: "fix", StartedAt: at.Add(time.Duration(i) * time.Second), Definition: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		s := &fsm.Snapshot{
			Loop: "fix", Phase: fsm.PhaseActing, Current: "a", Step: 3, StartedAt: at,
			Captured: value.NewMap(),
		}
		for c := range 50 { // each below the length that goes to a file of its own
			s.Captured.Set(fmt.Sprint("c", c), value.NewMap("output", long, "exit_code", int64(0)))
		}
		s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndMaxSteps, FinalState: "a", Steps: 3}
		if err := j.Record(t.Context(), &fsm.Batch{Checkpoint: true, Snapshot: s}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// BenchmarkNewest200 reads what list --running reads beside many archived runs with large states.
func BenchmarkNewest200(b *testing.B) {
	d := archive(b, b.TempDir(), 200)
	for b.Loop() {
		runs, err := d.Runs(b.Context(), persistence.Query{Limit: 200})
		if err != nil || len(runs) != 200 {
			b.Fatal(len(runs), err)
		}
	}
}
