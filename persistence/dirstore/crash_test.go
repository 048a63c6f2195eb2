package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

func open(t *testing.T) *Store {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), ".loops"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func step(n int) *fsm.Batch {
	return &fsm.Batch{
		Checkpoint: true,
		Events:     []fsm.Event{{Kind: "state_enter", Time: at}, {Kind: "action_start", Time: at}},
		Snapshot: &fsm.Snapshot{
			Loop: "fix", Phase: fsm.PhaseActing, Current: fmt.Sprint("s", n), Step: n, StartedAt: at,
			Captured: value.NewMap(fmt.Sprint("c", n), value.NewMap("output", "x")),
		},
	}
}

func end(n int, by string) *fsm.Batch {
	b := step(n)
	b.Snapshot.Outcome = &fsm.Outcome{TerminatedBy: by}
	b.Events = []fsm.Event{{Kind: "loop_complete", Time: at}}
	return b
}

func begin(t *testing.T, d *Store, batches ...*fsm.Batch) *journal {
	t.Helper()
	j, err := d.Create(t.Context(), persistence.Spec{
		Loop: "fix", StartedAt: at, Definition: []byte("name: fix\n"),
		Owner: persistence.Owner{PID: os.Getpid()},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := j.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return j.(*journal)
}

// die is what the kernel does for a process that is killed: its locks go, its files stay.
func (j *journal) die() {
	j.beside.close()
	j.sync.stop()
	_ = j.events.Close()
	_ = disk.Release(j.lock)
}

var errCrash = errors.New("crash")

// A crash between any two steps of archiving leaves a run that is whole, listed once, and can be tidied.
func TestCrashWhileArchiving(t *testing.T) {
	t.Parallel()
	for _, by := range []string{fsm.EndTerminal, fsm.EndInterrupted} {
		for n := 1; ; n++ {
			d := open(t)
			j := begin(t, d, step(1), end(1, by))
			count, name := 0, ""
			d.step = func(s string) error {
				if count++; count >= n {
					name = s
					return errCrash
				}
				return nil
			}
			err := j.Close(t.Context())
			if !errors.Is(err, errCrash) {
				if err != nil || n < 5 {
					t.Fatalf("step %d: %v", n, err)
				}
				break
			}
			d.step = nil
			checkWhole(t, d, fmt.Sprintf("%s, crash before %q", by, name),
				persistence.StatusOf(fsm.Outcome{TerminatedBy: by}))
		}
	}
}

// checkWhole expects exactly one run with two batches, tidies, and expects it in the archive alone.
func checkWhole(t *testing.T, d *Store, when string, status persistence.Status) {
	t.Helper()
	for _, tidied := range []bool{false, true} {
		runs, err := d.Runs(t.Context(), persistence.Query{})
		if err != nil || len(runs) != 1 || runs[0].Status != status || len(runs[0].Damage) > 0 {
			t.Fatalf("%s: %v, %+v", when, err, runs)
		}
		n := 0
		for _, err := range d.Events(t.Context(), runs[0].ID, 0) {
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			n++
		}
		if n != 3 {
			t.Fatalf("%s: %d events", when, n)
		}
		if s, err := d.Snapshot(t.Context(), runs[0].ID); err != nil || s.Current != "s1" {
			t.Fatalf("%s: %v, %+v", when, err, s)
		}
		if !tidied {
			if err := d.Archive(t.Context(), runs[0].ID); err != nil {
				t.Fatalf("%s: archive: %v", when, err)
			}
			continue
		}
		if !runs[0].Archived || runs[0].Leftover {
			t.Fatalf("%s: after tidying %+v", when, runs[0])
		}
	}
	for _, dir := range []string{d.running, d.history} {
		names, _ := disk.Names(dir)
		for _, n := range names {
			if n != ".acquire.lock" && n != ".newest" && !strings.HasPrefix(n, "2026-") {
				t.Errorf("%s: %s is left", when, n)
			}
		}
	}
}

// A crash between any two steps of bringing a run back leaves it whole on one side.
func TestCrashWhileUnarchiving(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		d := open(t)
		j := begin(t, d, step(1), end(1, fsm.EndInterrupted))
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		count, name := 0, ""
		d.step = func(s string) error {
			if count++; count >= n {
				name = s
				return errCrash
			}
			return nil
		}
		_, _, err := d.Resume(t.Context(), j.id, persistence.Spec{})
		d.step = nil
		if !errors.Is(err, errCrash) {
			if err != nil || n < 4 {
				t.Fatalf("step %d: %v", n, err)
			}
			return
		}
		checkWhole(t, d, fmt.Sprintf("crash before %q", name), persistence.Interrupted)
	}
}

// Whatever byte the event file ends at, memory and events agree, and the run continues from there.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1), step(2))
	before := j.offset
	out := &fsm.Batch{
		Events: []fsm.Event{
			{Kind: "action_output", Time: at, Fields: []fsm.Field{{Key: "line", Value: "one"}}},
			{Kind: "action_output", Time: at},
		},
	}
	for _, b := range []*fsm.Batch{out, step(3)} {
		if err := j.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	j.die()
	events, err := os.ReadFile(j.files.events)
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile(j.files.state)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	for i, c := range events {
		if c == '\n' {
			ends = append(ends, int64(i+1))
		}
	}
	for n := before; n <= int64(len(events)); n++ {
		if n%int64(testenv.Some(7, 1)) != 0 && !near(n, ends) {
			continue
		}
		for _, s := range [][]byte{state, nil} {
			if err := errors.Join(os.WriteFile(j.files.events, events[:n], 0o644), os.RemoveAll(j.files.torn)); err !=
				nil {
				t.Fatal(err)
			}
			if s == nil {
				err = os.Remove(j.files.state)
			} else {
				err = os.WriteFile(j.files.state, s, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			// What the journal lacks is lost, but for the memory of a state file that was written after it.
			wantStep, wantEvents, wantSeq, gap := 3, 8, 8, ""
			if n < int64(len(events)) {
				whole := bytes.Count(events[before:n], []byte{'\n'})
				wantStep, wantEvents = 2, 4+min(2, whole)
				wantSeq = wantEvents
				if s != nil {
					wantStep, wantEvents, wantSeq, gap = 3, 4+whole, 8, segment.Missing(uint64(5+whole), 8)
				}
			}
			k, snap, err := d.Resume(t.Context(), j.id, persistence.Spec{})
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			got, told := 0, ""
			for _, err := range d.Events(t.Context(), j.id, 0) {
				if damage, ok := errors.AsType[*persistence.DamageError](err); ok {
					told = damage.What
					continue
				}
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				got++
			}
			if snap.Step != wantStep || got != wantEvents || int(k.(*journal).seq) != wantSeq || told != gap {
				t.Fatalf("%d of %d bytes: step %d, %d events and %q (%d), want %d, %d and %q (%d)", n, len(events),
					snap.Step, got, told, k.(*journal).seq, wantStep, wantEvents, gap, wantSeq)
			}
			if damage := strings.Join(k.Run().Damage, "\n"); !strings.Contains(damage, gap) {
				t.Fatalf("%d bytes: damage %s", n, damage)
			}
			torn, _ := os.ReadFile(j.files.torn)
			if kept := k.(*journal).offset; string(torn) != string(events[kept:n]) &&
				string(torn) != string(events[kept:n])+"\n" {
				t.Fatalf("%d bytes: put aside %q", n, torn)
			}
			if (len(torn) > 0) != strings.Contains(strings.Join(k.Run().Damage, "\n"), "put aside") {
				t.Fatalf("%d bytes: damage %v", n, k.Run().Damage)
			}
			k.(*journal).die()
		}
	}
}

// A state file that is cut anywhere, or has any bit flipped, is never believed.
func TestSpoiltState(t *testing.T) {
	const shares = 8 // each with a run of its own: a reader waits before it looks at a damaged file again
	for share := range shares {
		t.Run(fmt.Sprint(share+1, " of ", shares), func(t *testing.T) {
			t.Parallel()
			spoilState(t, share, shares)
		})
	}
}

// spoilState spoils every so manieth byte of a state file, from the one of this number on.
func spoilState(t *testing.T, from, every int) {
	d := open(t)
	j := begin(t, d, step(1), step(2))
	j.die()
	state, err := os.ReadFile(j.files.state)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(j.files.state, b, 0o600); err != nil {
			t.Fatal(err)
		}
		snap, err := d.Snapshot(t.Context(), j.id)
		if err != nil || snap.Step != 2 || snap.Current != "s2" || !snap.StartedAt.Equal(at) {
			t.Fatalf("%s: %v, %+v", what, err, snap)
		}
		if runs, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) != 1 || runs[0].Step != 2 ||
			len(runs[0].Damage) > 0 {
			t.Fatalf("%s: %v, %+v", what, err, runs)
		}
	}
	for stride, n := testenv.Some(5, 1), from*testenv.Some(5, 1); n < len(state); n += every * stride {
		check(fmt.Sprintf("cut to %d bytes", n), state[:n])
		b := bytes.Clone(state)
		b[n] ^= 1 << (n % 8)
		check(fmt.Sprintf("bit %d of byte %d flipped", n%8, n), b)
	}
}

// A journal was cut, or put back from an older copy, beside the state file of the run: its actions ran again,
// as the first attempt. The newer of both holds, what is missing is reported, and no number is given twice,
// whatever happens next.
func TestStateAheadOfJournal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, j *journal, state []byte) // after the next event was recorded
		step  int                                          // in the end, if the run was killed there
	}{
		{"killed", func(*testing.T, *journal, []byte) {}, 4},
		{"swept to the archive", func(t *testing.T, j *journal, _ []byte) {
			if err := j.d.Interrupt(t.Context(), j.id, at, "gone"); err != nil {
				t.Fatal(err)
			}
		}, 4},
		{"the state file is lost", func(t *testing.T, j *journal, _ []byte) {
			if err := os.Remove(j.files.state); err != nil {
				t.Fatal(err)
			}
		}, 4},
		{"cut again", func(t *testing.T, j *journal, _ []byte) {
			if err := os.Truncate(j.files.events, j.offset-9); err != nil {
				t.Fatal(err)
			}
		}, 4},
		{"an old state file comes back", func(t *testing.T, j *journal, state []byte) {
			if err := os.WriteFile(j.files.state, state, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			j := begin(t, d, step(1))
			n := j.offset
			for _, b := range []*fsm.Batch{step(2), step(3)} {
				if err := j.Record(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			j.die()
			state, err := os.ReadFile(j.files.state)
			if err := errors.Join(err, os.Truncate(j.files.events, n)); err != nil {
				t.Fatal(err)
			}
			const gap = "events 3 to 6 are missing"
			if runs, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) != 1 ||
				runs[0].Step != 3 || !strings.Contains(strings.Join(runs[0].Damage, "\n"), gap) {
				t.Errorf("%v, %+v", err, runs)
			}
			k, snap, err := d.Resume(t.Context(), j.id, persistence.Spec{})
			if err != nil || snap.Step != 3 {
				t.Fatalf("%v, %+v", err, snap)
			}
			if damage := strings.Join(k.Run().Damage, "\n"); !strings.Contains(damage, gap) ||
				strings.Count(damage, "missing") != 1 {
				t.Errorf("damage: %s", damage)
			}
			if b, err := os.ReadFile(j.files.aside); err != nil || !strings.Contains(string(b), gap) {
				t.Errorf("put aside: %s, %v", b, err)
			}
			if err := k.Record(t.Context(), step(4)); err != nil {
				t.Fatal(err)
			}
			k.(*journal).die()
			c.spoil(t, k.(*journal), state)
			if s, err := d.Snapshot(t.Context(), j.id); err != nil || s.Step != c.step {
				t.Errorf("then: %v, %+v", err, s)
			}
			seen := map[uint64]bool{}
			told := ""
			for e, err := range d.Events(t.Context(), j.id, 0) {
				if damage, ok := errors.AsType[*persistence.DamageError](err); ok {
					told += damage.What + "\n"
				} else if err != nil || seen[e.Seq] {
					t.Errorf("event %d: %v", e.Seq, err)
				}
				seen[e.Seq] = true
			}
			if !strings.Contains(told, gap) && !strings.Contains(told, "events 3 to 7 are missing") {
				t.Errorf("told: %s", told)
			}
		})
	}
}

// The end of a run was recorded and its state file could not be written: it was said to have stopped, and could
// not be resumed.
func TestEndWithoutStateFile(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	tmp := j.files.state + ".tmp"
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(filepath.Join(tmp, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := j.Record(t.Context(), end(2, fsm.EndTerminal)); err != nil {
		t.Fatalf("the end: %v", err)
	}
	if _, ok := errors.AsType[*persistence.ArchiveError](j.Close(t.Context())); !ok {
		t.Errorf("it is in the archive although its state file cannot be written")
	}
	if runs, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) != 1 ||
		runs[0].Status != persistence.Completed {
		t.Errorf("%v, %+v", err, runs)
	}
	if err := os.RemoveAll(tmp); err != nil {
		t.Fatal(err)
	}
	if err := d.Archive(t.Context(), j.id); err != nil {
		t.Error(err)
	}
	if runs, err := d.Runs(t.Context(), persistence.Query{}); err != nil || len(runs) != 1 ||
		runs[0].Status != persistence.Completed || !runs[0].Archived {
		t.Errorf("archived: %v, %+v", err, runs)
	}
}

// A failing write ends the run at once and leaves what was recorded.
func TestFailingWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(*journal) string // returns the file the error must name
	}{
		{"journal", func(j *journal) string {
			_ = j.events.Close()
			ro, err := os.Open(j.files.events)
			if err != nil {
				panic(err)
			}
			j.events = ro
			return j.files.events
		}},
		{"state", func(j *journal) string {
			_ = os.MkdirAll(filepath.Join(j.files.state+".tmp", "not empty"), 0o755)
			return j.files.state + ".tmp"
		}},
		{"large text", func(j *journal) string {
			_ = os.WriteFile(filepath.Join(j.work, "blobs"), nil, 0o644)
			return filepath.Join(j.work, "blobs")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			j := begin(t, d, step(1))
			file := c.spoil(j)
			b := step(2)
			if c.name == "large text" {
				b.Snapshot.PrevResult = value.NewMap("output", strings.Repeat("x", snapshot.LargeFrom+1))
			}
			err := j.Record(t.Context(), b)
			if err == nil || !strings.Contains(err.Error(), file) {
				t.Fatalf("error %v does not name %s", err, file)
			}
			if again := j.Record(t.Context(), step(3)); !errors.Is(again, err) {
				t.Fatalf("the next error is %v", again)
			}
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = os.RemoveAll(file)
			k, s, err := d.Resume(t.Context(), j.id, persistence.Spec{})
			if err != nil || s.Step < 1 || s.Step > 2 {
				t.Fatalf("%v, %+v", err, s)
			}
			if err := k.Record(t.Context(), step(3)); err != nil {
				t.Fatal(err)
			}
			if err := k.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// little-loops rewrites a state file and drops what it does not know. Nothing is lost by that.
func TestRewrittenByTheReference(t *testing.T) {
	t.Parallel()
	d := open(t)
	b := step(1)
	b.Snapshot.Holds = map[string]int{"a": 3}
	j := begin(t, d, b)
	j.die()
	text := `{"loop_name": "fix", "current_state": "s1", "iteration": 1, "captured": {}, "prev_result": null, "last_result": null,
		"started_at": "2026-11-21T08:37:17.206209+00:00", "updated_at": "2026-11-21T08:38:17.206209+00:00", "status": "user_stopped", "accumulated_ms": 0}`
	if err := os.WriteFile(j.files.state, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 || runs[0].Status != persistence.UserStopped || runs[0].Foreign {
		t.Fatalf("%v, %+v", err, runs)
	}
	s, err := d.Snapshot(t.Context(), j.id)
	if err != nil || s.Holds["a"] != 3 || s.Phase != fsm.PhaseActing {
		t.Fatalf("%v, %+v", err, s)
	}
}
