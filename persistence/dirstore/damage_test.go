package dirstore

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

var damageStride = flag.Int("damage-stride", 401, "TestDamage spoils every so manieth byte; 1 = each")

// A sound run is one whose files are spoilt, and what is known of it.
type soundRun struct {
	d        *Store
	id       persistence.ID
	files    map[string][]byte // by their names below the directory
	events   []string          // as text, by their number
	memories map[string]uint64 // as text: number of the last event they include
	memory   string            // the last
	step     int
}

// newSoundRun records a run of a few parts. It was killed.
func newSoundRun(t *testing.T, archived bool) *soundRun {
	t.Helper()
	d := open(t)
	d.PartSize, d.Durability = 1300, persistence.None
	r := &soundRun{d: d, memories: make(map[string]uint64)}
	j := begin(t, d, step(1))
	see := func() {
		r.memory = memoryText(t, &j.rec.Snapshot)
		if _, ok := r.memories[r.memory]; !ok {
			r.memories[r.memory] = j.seq
		}
	}
	see()
	last := 13
	for i := 2; i <= last; i++ {
		b := step(i)
		switch {
		case i%4 == 0:
			b = &fsm.Batch{Events: []fsm.Event{
				{Kind: "action_output", Time: at, Fields: []fsm.Field{{Key: "line", Value: fmt.Sprint("line ", i)}}},
				{Kind: "action_output", Time: at},
			}}
		case i == last && archived:
			b = end(i, fsm.EndInterrupted)
		case i == last-1: // a whole memory in the middle of a part
			j.full = 0
		}
		if err := j.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		see()
	}
	r.id, r.step = j.id, j.rec.Step
	if archived {
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	} else {
		j.die()
	}
	for e, err := range d.Events(t.Context(), j.id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		r.events = append(r.events, string(e.AppendJSON(nil)))
	}
	r.files = readTree(t, d.root)
	return r
}

func readTree(t *testing.T, root string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		files[rel], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// restore makes a directory with the files as they were, but for those in spoilt; nil means that it is not there.
func (r *soundRun) restore(t *testing.T, spoilt map[string][]byte) *Store {
	t.Helper()
	root := filepath.Join(t.TempDir(), ".loops")
	for rel, b := range r.files {
		if s, ok := spoilt[rel]; ok {
			if b = s; b == nil {
				continue
			}
		}
		path := filepath.Join(root, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	d.Durability, d.PartSize = persistence.None, r.d.PartSize
	return d
}

// journal returns the names of the files of the journal, in order.
func (r *soundRun) journal() (names []string) {
	for _, rel := range slices.Sorted(maps.Keys(r.files)) {
		if base := filepath.Base(rel); segment.Number(base) > 0 {
			names = append(names, rel)
		}
	}
	for rel := range r.files {
		if strings.HasSuffix(rel, "events.jsonl") {
			names = append(names, rel)
		}
	}
	return names
}

// before returns the numbers of the last event and of the last memory that stand wholly before a byte of a file. For a
// file that is no part of the journal that is all of them.
func (r *soundRun) before(name string, at int) (event, memory uint64) {
	for _, rel := range r.journal() {
		b := r.files[rel]
		if rel == name {
			b = b[:min(at, len(b))]
		}
		for len(b) > 0 {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				return event, memory
			}
			seq := segment.Seq(b[:i])
			if event = seq; bytes.Contains(b[:i], []byte(`"memory`)) {
				memory = seq
			}
			b = b[i+1:]
		}
		if rel == name {
			break
		}
	}
	return event, memory
}

// check expects that the run of a directory whose file was spoilt from a byte on lost nothing before it, says nothing
// that was never recorded, and is silent about nothing.
func (r *soundRun) check(t *testing.T, what string, d *Store, name string, at int) {
	t.Helper()
	wantEvents, wantMemory := r.before(name, at)
	reports, got := r.readEvents(t, what, d)
	for seq := range wantEvents {
		// Output lines and lines that wait for their memory may stand before it.
		if seq < wantMemory && !slices.Contains(got, seq+1) {
			t.Errorf("%s: event %d was recorded before it and is not shown; shown are %v, reports %v", what, seq+1,
				got, reports)
		}
	}
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%s: %v, runs %+v", what, err, runs)
	}
	reports = append(reports, runs[0].Damage...)
	snap, err := d.Snapshot(t.Context(), r.id)
	if err != nil {
		if wantMemory > 0 || len(reports) == 0 {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	seq, ok := r.memories[memoryText(t, snap)]
	switch {
	case !ok:
		t.Fatalf("%s: a memory that never was: %s", what, memoryText(t, snap))
	case seq < wantMemory:
		t.Errorf("%s: the memory is that of event %d, want %d or later; %v", what, seq, wantMemory, reports)
	case runs[0].Step != snap.Step:
		t.Errorf("%s: step %d is listed, the memory is that of step %d", what, runs[0].Step, snap.Step)
	}
	if len(reports) == 0 && !r.harmless(t, d, name) {
		t.Errorf("%s: nobody tells", what)
	}
	for _, text := range reports {
		if !strings.Contains(text, d.root) {
			t.Errorf("%s: %q names no file", what, text)
		}
	}
	r.goOn(t, what, d, snap, got)
}

func (r *soundRun) readEvents(t *testing.T, what string, d *Store) (reports []string, got []uint64) {
	t.Helper()
	last := uint64(0)
	for e, err := range d.Events(t.Context(), r.id, 0) {
		if err != nil {
			reports = append(reports, err.Error())
			continue
		}
		if e.Seq <= last {
			t.Errorf("%s: event %d is shown behind event %d", what, e.Seq, last)
		}
		if last = e.Seq; int(last) <= len(r.events) && string(e.AppendJSON(nil)) != r.events[last-1] &&
			e.Kind != "loop_resume" {
			t.Errorf("%s: an event that never was: %s\nit was %s", what, e.AppendJSON(nil), r.events[last-1])
		}
		got = append(got, last)
	}
	for e, err := range d.Tail(t.Context(), r.id) {
		if err != nil || int(e.Seq) <= len(r.events) && string(e.AppendJSON(nil)) != r.events[e.Seq-1] &&
			e.Kind != "loop_resume" {
			t.Errorf("%s: read backwards, an event that never was: %s, %v", what, e.AppendJSON(nil), err)
		}
	}
	return reports, got
}

// goOn resumes the run, and expects that everything that was shown is still there, or was put aside, and that
// what comes now is shown too.
func (r *soundRun) goOn(t *testing.T, what string, d *Store, want *fsm.Snapshot, shown []uint64) {
	t.Helper()
	j, snap, err := d.Resume(t.Context(), r.id, persistence.Spec{Loop: "fix"})
	if err != nil {
		t.Fatalf("%s: resume: %v", what, err)
	}
	if memoryText(t, snap) != memoryText(t, want) {
		t.Errorf("%s: resumed with %s\nwant %s", what, memoryText(t, snap), memoryText(t, want))
	}
	seq := j.(*journal).seq
	for n := range 3 {
		snap.Step = 100 + n
		snap.Outcome = nil
		if err := j.Record(t.Context(),
			&fsm.Batch{
				Snapshot: snap, Checkpoint: true,
				Events: []fsm.Event{{Kind: "loop_resume", Time: at}},
			}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	j.(*journal).die()
	aside := ""
	for rel, b := range readTree(t, d.root) {
		if strings.HasSuffix(rel, ".torn") || strings.HasSuffix(rel, ".damaged") {
			aside += string(b)
		}
	}
	after := make(map[uint64]bool)
	resumed := 0
	last := uint64(0)
	for e, err := range d.Events(t.Context(), r.id, 0) {
		if err == nil {
			after[e.Seq] = true
			if e.Seq <= last {
				t.Errorf("%s: after it went on event %d stands behind %d", what, e.Seq, last)
			}
			if last = e.Seq; e.Kind == "loop_resume" && e.Seq > seq {
				resumed++
			}
		}
	}
	if resumed != 3 {
		t.Errorf("%s: %d of 3 new events are shown", what, resumed)
	}
	for _, n := range shown {
		if !after[n] && !strings.Contains(aside, fmt.Sprintf("seq\": %d,", n)) {
			t.Errorf("%s: event %d is gone after it went on (at event %d)", what, n, seq)
		}
	}
	if s, err := d.Snapshot(t.Context(), r.id); err != nil || s.Step != 102 {
		t.Errorf("%s: after it went on: %v, %+v", what, err, s)
	}
}

// spoilers change the bytes of a file at a byte. The result is nil where there is nothing to change.
var spoilers = map[string]func(b []byte, at int) []byte{
	"a bit flipped": func(b []byte, at int) []byte {
		b[at] ^= 1 << (at % 8)
		return b
	},
	"cut off": func(b []byte, at int) []byte { return b[:at] },
	"40 bytes of zeros": func(b []byte, at int) []byte {
		clear(b[at:min(at+40, len(b))])
		return b
	},
	"zeros to the end": func(b []byte, at int) []byte {
		clear(b[at:])
		return b
	},
	"a byte missing":   func(b []byte, at int) []byte { return slices.Delete(b, at, at+1) },
	"40 bytes missing": func(b []byte, at int) []byte { return slices.Delete(b, at, min(at+40, len(b))) },
	"a byte too many":  func(b []byte, at int) []byte { return slices.Insert(b, at, 'x') },
	"a line end too many": func(b []byte, at int) []byte {
		return slices.Insert(b, at, '\n')
	},
	"40 bytes twice": func(b []byte, at int) []byte {
		return slices.Insert(b, at, slices.Clone(b[at:min(at+40, len(b))])...)
	},
}

// lineSpoilers change the n-th line of a file.
var lineSpoilers = map[string]func(lines [][]byte, n int) [][]byte{
	"missing": func(l [][]byte, n int) [][]byte { return slices.Delete(l, n, n+1) },
	"twice":   func(l [][]byte, n int) [][]byte { return slices.Insert(l, n, l[n]) },
	"swapped with the next": func(l [][]byte, n int) [][]byte {
		if n+1 < len(l) {
			l[n], l[n+1] = l[n+1], l[n]
		}
		return l
	},
	"again at the end": func(l [][]byte, n int) [][]byte { return append(l, l[n]) },
}

// Whatever happens to one file of a run, nothing that was recorded before the place is lost, nothing is made
// up, nothing is passed over in silence, and the run continues.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, archived := range []bool{false, true} {
		t.Run(fmt.Sprintf("archived=%v", archived), func(t *testing.T) {
			t.Parallel()
			r := newSoundRun(t, archived)
			n := 0
			for _, rel := range slices.Sorted(maps.Keys(r.files)) {
				if strings.HasSuffix(rel, ".lock") || strings.HasSuffix(rel, ".pid") ||
					strings.HasSuffix(rel, ".newest") || strings.Contains(rel, "definition") {
					continue
				}
				spoil := func(what string, b []byte, at int) {
					t.Run(fmt.Sprintf("%s, %s, at %d", rel, what, at), func(t *testing.T) {
						if bytes.Equal(b, r.files[rel]) {
							return // nothing was changed
						}
						d := r.restore(t, map[string][]byte{rel: b})
						r.check(t, fmt.Sprintf("%s at %d of %d in %s", what, at, len(r.files[rel]), rel), d, rel, at)
					})
				}
				spoil("removed", nil, 0)
				for _, what := range slices.Sorted(maps.Keys(spoilers)) {
					for at := n % *damageStride; at < len(r.files[rel]); at += *damageStride {
						spoil(what, spoilers[what](bytes.Clone(r.files[rel]), at), at)
					}
					n++
				}
				if !strings.HasSuffix(rel, ".jsonl") {
					continue
				}
				at := 0
				lines := slices.Collect(bytes.Lines(r.files[rel]))
				for i, line := range lines {
					for k, what := range slices.Sorted(maps.Keys(lineSpoilers)) {
						if !*testenv.Torture && (k+i)%len(lineSpoilers) != 0 && i > 0 && i < len(lines)-2 {
							continue
						}
						spoil(fmt.Sprintf("line %d %s", i+1, what),
							bytes.Join(lineSpoilers[what](slices.Clone(lines), i), nil), at)
					}
					at += len(line)
				}
			}
		})
	}
}

// harmless reports whether a spoilt file says what it said before, or is of no use to a reader.
func (r *soundRun) harmless(t *testing.T, d *Store, name string) bool {
	if strings.HasSuffix(name, "state.json.tmp") || strings.HasPrefix(name, ".running") &&
		strings.HasSuffix(name, ".state.json") {
		return true // a view that is not synced
	}
	if filepath.Base(name) != segment.IndexName {
		b, err := os.ReadFile(filepath.Join(d.root, name)) // a blank line at the end says nothing
		return err == nil && bytes.Equal(bytes.TrimSpace(b), bytes.TrimSpace(r.files[name]))
	}
	was, _ := segment.ReadIndex(filepath.Join(r.d.root, name))
	is, damage := segment.ReadIndex(filepath.Join(d.root, name))
	for len(was) > len(is) { // a crash leaves the last out
		delete(was, slices.Max(slices.Collect(maps.Keys(was))))
	}
	return len(damage) == 0 && maps.Equal(was, is)
}
