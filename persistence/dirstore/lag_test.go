package dirstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/testenv"
	"loops/persistence"
)

// A run that captures 8 KB under a new name, or adds a message, in each of many steps was slower with each: its
// state file, with all of them, was written again before each action.
func TestLargeStateIsNotWrittenAtEachStep(t *testing.T) {
	t.Parallel()
	for what, add := range map[string]func(s *fsm.Snapshot, i int){
		"captures": func(s *fsm.Snapshot, i int) {
			s.Captured = s.Captured.Clone()
			s.Captured.Set(fmt.Sprint("c", i), value.NewMap("output", strings.Repeat("x", 8<<10)))
		},
		"messages": func(s *fsm.Snapshot, i int) { s.Messages = append(s.Messages, strings.Repeat("m", 1000)) },
		"states": func(s *fsm.Snapshot, i int) {
			s.Edges = s.Edges.With(fmt.Sprintf("%0500d->%0500d", i, i+1), 1)
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t)
				d.Durability = persistence.None
				j := begin(t, d, step(1))
				b := step(1)
				var last disk.Stamp
				var written, small int64 // bytes of state files
				for i := range 400 {
					add(b.Snapshot, i)
					b.Snapshot.Step++
					must(t, j.Record(t.Context(), b))
					now, _, ok := disk.StampOf(j.files.state)
					if !ok {
						t.Fatal("there is no state file")
					}
					if now != last {
						if written += now.Size; now.Size <= lagFrom {
							small += now.Size
						}
					}
					last = now
				}
				if most := 2*j.offset + small; written > most {
					t.Errorf("%d bytes of state files were written for %d of journal, more than %d", written,
						j.offset, most)
				}
				// What others read of it is up to date all the same.
				r, err := d.Runs(t.Context(), persistence.Query{Loop: "fix"})
				if must(t, err); len(r) != 1 || r[0].Step != b.Snapshot.Step {
					t.Errorf("listed are %+v", r)
				}
				if seq := stateSeq(j.files.state); seq == j.seq {
					t.Error("the state file is at the last event; the test does not see a lag")
				}
				testenv.Pass(lagMost)
				synctest.Wait()
				if seq := stateSeq(j.files.state); seq != j.seq {
					t.Errorf("a second later the state file is at event %d of %d", seq, j.seq)
				}
				add(b.Snapshot, 400)
				must(t, j.Record(t.Context(), b))
				j.lag.close()
				j.die()
				again, _, err := d.Resume(t.Context(), j.id, persistence.Spec{})
				must(t, err)
				got, err := d.Snapshot(t.Context(), j.id)
				if must(t, err); got.Captured.Len() != b.Snapshot.Captured.Len() ||
					len(got.Messages) != len(b.Snapshot.Messages) || got.Edges.Len() != b.Snapshot.Edges.Len() {
					t.Error("what was recorded last is lost")
				}
				must(t, again.Close(t.Context()))
				testenv.Pass(2 * lagMost)
				if disk.Exists(j.files.state + ".tmp") {
					t.Error("after the run was closed a state file was written")
				}
			})
		})
	}
}

// The end of a run with a large memory is in its state file at once.
func TestEndOfALargeRun(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	b := end(2, fsm.EndUserStopped)
	for i := range 100 {
		b.Snapshot.Messages = append(b.Snapshot.Messages, strings.Repeat("m", 1000))
		if i == 98 {
			o := b.Snapshot.Outcome
			b.Snapshot.Outcome = nil
			must(t, j.Record(t.Context(), b))
			b.Snapshot.Outcome = o
		}
	}
	must(t, j.Record(t.Context(), b))
	text, err := os.ReadFile(j.files.state)
	if must(t, err); !strings.Contains(string(text), `"status": "user_stopped"`) {
		t.Errorf("the state file has %d bytes, and not the end", len(text))
	}
	must(t, j.Close(t.Context()))
}

// A large state file that cannot be written ends the run at the next record. It was tried again once a second,
// and nobody was told.
func TestLargeStateThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		d.Durability = persistence.None
		j := begin(t, d, step(1))
		b := step(1)
		for range 100 {
			b.Snapshot.Messages = append(b.Snapshot.Messages, strings.Repeat("m", 1000))
			must(t, j.Record(t.Context(), b))
		}
		must(t, os.RemoveAll(j.files.state+".tmp"))
		must(t, os.MkdirAll(filepath.Join(j.files.state+".tmp", "full"), 0o700))
		testenv.Pass(2 * lagMost)
		synctest.Wait()
		b.Snapshot.Messages = append(b.Snapshot.Messages, "one more")
		if err := j.Record(t.Context(), b); err == nil {
			t.Error("the run goes on, and its state file is a lie")
		}
		j.lag.close()
		j.die()
	})
}
