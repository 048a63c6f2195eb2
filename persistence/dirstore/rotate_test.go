package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// memoryText is a memory as text, to compare.
func memoryText(t testing.TB, s *fsm.Snapshot) string {
	t.Helper()
	b, err := snapshot.NewEncoder(nil).Whole(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// long is a run of n batches of every kind, in many small parts.
func long(t *testing.T, d *Store, n int) *journal {
	t.Helper()
	j := begin(t, d, step(1))
	for i := 2; i <= n; i++ {
		var b *fsm.Batch
		switch i % 4 {
		case 0:
			b = &fsm.Batch{Events: []fsm.Event{
				{Kind: "action_output", Time: at, Fields: []fsm.Field{{Key: "line", Value: fmt.Sprint("line ", i)}}},
				{Kind: "action_output", Time: at},
			}}
		case 1:
			b = &fsm.Batch{Events: []fsm.Event{
				{Kind: "warning", Time: at, Fields: []fsm.Field{{Key: "text", Value: "é"}}},
			}}
		case 2:
			b = step(i)
			b.Checkpoint = false
		default:
			b = step(i)
		}
		if err := j.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// partsOf returns the names of the parts in a folder, and expects each to be what the index says.
func partsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	parts, damage, err := segment.Parts(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("%v, %v", err, damage)
	}
	last := uint64(0)
	for _, p := range parts {
		b, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
		first, end := segment.Seq(lines[0]), segment.Seq(lines[len(lines)-1])
		if !p.Indexed || p.First != first || p.Last != end || p.First != last+1 {
			t.Errorf("%s holds events %d to %d behind %d, the index says %+v", p.Name, first, end, last, p)
		}
		if batch := b[p.Whole:]; !bytes.Contains(batch[:bytes.Index(batch, []byte(`"memory`))+20],
			[]byte(`"memory_full"`)) {
			t.Errorf("%s: no whole memory at %d", p.Name, p.Whole)
		}
		if head := b[:bytes.Index(b, []byte(`"memory`))+20]; !bytes.Contains(head, []byte(`"memory_full"`)) {
			t.Errorf("%s does not begin with a whole memory: %s", p.Name, head)
		}
		names, last = append(names, p.Name), end
	}
	return names
}

// readAll returns the numbers of the events after one, and expects no damage and no gap.
func readAll(t *testing.T, d *Store, id persistence.ID, after uint64) (n uint64) {
	t.Helper()
	n = after
	for e, err := range d.Events(t.Context(), id, after) {
		if n++; err != nil || e.Seq != n {
			t.Fatalf("event %d: %v, number %d", n, err, e.Seq)
		}
	}
	return n
}

// A journal in parts is one journal to readers: live, without its state file or its index, in the archive, and back.
func TestParts(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.PartSize, d.Durability = 1500, persistence.None
	j := long(t, d, 60)
	want, last, names := memoryText(t, &j.rec.Snapshot), j.seq, partsOf(t, j.files.parts)
	if len(names) < 5 {
		t.Fatalf("only the parts %v", names)
	}
	check := func(when string, damage ...string) {
		t.Helper()
		for after := range last + 1 {
			if n := readAll(t, d, j.id, after); n != last {
				t.Errorf("%s: after %d it ends with %d, want %d", when, after, n, last)
			}
		}
		s, err := d.Snapshot(t.Context(), j.id)
		if err != nil || memoryText(t, s) != want {
			t.Errorf("%s: %v, memory %s\nwant %s", when, err, memoryText(t, s), want)
		}
		runs, err := d.Runs(t.Context(), persistence.Query{})
		if err != nil || len(runs) != 1 || runs[0].Step != 59 {
			t.Errorf("%s: %v, %+v", when, err, runs)
			return
		}
		for i, what := range damage {
			if i >= len(runs[0].Damage) || !strings.HasSuffix(runs[0].Damage[i], what) {
				t.Errorf("%s: damage %q, want %q", when, runs[0].Damage, damage)
			}
		}
		if len(damage) == 0 && len(runs[0].Damage) > 0 {
			t.Errorf("%s: damage %q", when, runs[0].Damage)
		}
	}
	check("live")
	j.die()
	check("dead")
	if err := os.Remove(j.files.state); err != nil {
		t.Fatal(err)
	}
	check("without a state file")
	if err := os.Remove(filepath.Join(j.files.parts, segment.IndexName)); err != nil {
		t.Fatal(err)
	}
	check("without an index", segment.IndexName+": it does not know 000001.jsonl",
		segment.IndexName+": it does not know 000002.jsonl")

	k, _, err := d.Resume(t.Context(), j.id, persistence.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if again := partsOf(t, j.files.parts); !reflect.DeepEqual(again, names) {
		t.Errorf("the index was made again of %v, want %v", again, names)
	}
	s := step(59).Snapshot
	for range 12 {
		b := &fsm.Batch{Snapshot: s, Events: []fsm.Event{{Kind: "route", Time: at}}}
		if err := k.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		last++
	}
	s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndInterrupted}
	if err := k.Record(t.Context(),
		&fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{{Kind: "loop_complete", Time: at}}}); err != nil {
		t.Fatal(err)
	}
	last++
	want = memoryText(t, s)
	live := partsOf(t, j.files.parts)
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("archived")
	archive := filepath.Join(d.history, folderName(persistence.MakeRunID(at), "fix"))
	if got := partsOf(t, filepath.Join(archive, "events")); !reflect.DeepEqual(got, live) || len(got) <= len(names) {
		t.Errorf("the archive has the parts %v, want %v", got, live)
	}
	if disk.Exists(j.files.parts) {
		t.Errorf("%s is left", j.files.parts)
	}
	k, _, err = d.Resume(t.Context(), j.id, persistence.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	check("back from the archive")
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A crash between any two steps of beginning a part loses nothing, and the run continues from there.
func TestCrashWhileRotating(t *testing.T) {
	t.Parallel()
	steps := map[string]bool{}
	for n := 1; n < 20; n++ {
		d := open(t)
		d.PartSize, d.Durability = 1000, persistence.None
		j := begin(t, d, step(1))
		count, name := 0, ""
		d.step = func(s string) error {
			if count++; count >= n {
				name = s
				return errCrash
			}
			return nil
		}
		var err error
		done := 1
		for err == nil && done < 40 {
			if err = j.Record(t.Context(), step(done+1)); err == nil {
				done++
			}
		}
		d.step = nil
		if !errors.Is(err, errCrash) {
			t.Fatalf("crash %d: %v", n, err)
		}
		steps[name] = true
		j.die()
		for _, state := range []bool{true, false} {
			when := fmt.Sprintf("crash before %q, %d steps done, state file there: %v", name, done, state)
			if !state {
				if err := errors.Join(disk.Remove(j.files.state, j.files.state+".tmp")); err != nil {
					t.Fatal(err)
				}
			}
			runs, err := d.Runs(t.Context(), persistence.Query{})
			if err != nil || len(runs) != 1 || len(runs[0].Damage) > 0 && state || runs[0].Step != done {
				t.Fatalf("%s: %v, %+v", when, err, runs)
			}
			if got := readAll(t, d, j.id, 0); got != uint64(2*done) {
				t.Fatalf("%s: %d events, want %d", when, got, 2*done)
			}
			k, s, err := d.Resume(t.Context(), j.id, persistence.Spec{})
			if err != nil || s.Step != done || k.(*journal).seq != uint64(2*done) {
				t.Fatalf("%s: %v, %+v", when, err, s)
			}
			for range 5 {
				done++
				if err := k.Record(t.Context(), step(done)); err != nil {
					t.Fatalf("%s: %v", when, err)
				}
			}
			k.(*journal).die()
			partsOf(t, j.files.parts)
			if got := readAll(t, d, j.id, 0); got != uint64(2*done) {
				t.Fatalf("%s: %d events after it went on, want %d", when, got, 2*done)
			}
		}
		if err := d.Interrupt(t.Context(), j.id, at, "test"); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, d, j.id, 0); got != uint64(2*done) {
			t.Fatalf("%d events in the archive, want %d", got, 2*done)
		}
	}
	if want := map[string]bool{"rotate": true, "begin part": true, "index": true}; !reflect.DeepEqual(steps, want) {
		t.Errorf("crashed before %v, want %v", steps, want)
	}
}

// A reader that began before a part was full, and one whose run is archived meanwhile, see one journal without a gap.
func TestPartsMoveUnderAReader(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.PartSize, d.Durability = 800, persistence.None
	j := begin(t, d, step(1), step(2), step(3), step(4))
	n := uint64(0)
	for e, err := range d.Events(t.Context(), j.id, 0) {
		if n++; err != nil || e.Seq != n {
			t.Fatalf("event %d: %v, number %d", n, err, e.Seq)
		}
		switch n {
		case 1:
			for i := 5; i < 20; i++ {
				if err := j.Record(t.Context(), step(i)); err != nil {
					t.Fatal(err)
				}
			}
		case 2:
			if err := errors.Join(j.Record(t.Context(), end(20, fsm.EndTerminal)), j.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 8 { // what was there when it began
		t.Errorf("%d events", n)
	}
}

// The folder of a run in one part has no more than before.
func TestOnePart(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := long(t, d, 40)
	if disk.Exists(j.files.parts) || strings.Contains(string(encode(&j.rec)), `"part"`) {
		t.Error("there are parts")
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A full part that cannot be read was a note: the events without it looked like all there are, a fork began
// without the memory before it, and a run continued with the memory of an older part, so that it did again what
// it had done.
func TestUnreadablePart(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.PartSize, d.Durability = 1500, persistence.None
	j := long(t, d, 60)
	id := j.Run().ID
	j.die()
	parts := partsOf(t, j.files.parts)
	last := filepath.Join(j.files.parts, parts[len(parts)-1])
	// What a crash between two parts leaves, with a state file that is lost: all is in the parts.
	if err := errors.Join(os.Remove(j.files.events), os.Remove(j.files.state), os.Rename(last, last+".away"),
		os.Mkdir(last, 0o700)); err != nil {
		t.Fatal(err)
	}
	names := func(what string, err error) {
		t.Helper()
		if unreadable, ok := errors.AsType[*os.PathError](err); !ok || unreadable.Path != last {
			t.Errorf("%s ends with the error %v, want one about %s", what, err, last)
		}
	}
	var err error
	for _, err = range d.Events(t.Context(), id, 0) {
	}
	names("Events", err)
	for _, err = range d.Tail(t.Context(), id) {
	}
	names("Tail", err)
	_, _, err = d.Around(t.Context(), id, 1<<40)
	names("Around", err)
	_, err = d.Snapshot(t.Context(), id)
	names("Snapshot", err)
	_, _, err = d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
	names("Resume", err)
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	names("the run in a list", runs[0].Unread)
	if err := errors.Join(os.Remove(last), os.Rename(last+".away", last)); err != nil {
		t.Fatal(err)
	}
	again, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
