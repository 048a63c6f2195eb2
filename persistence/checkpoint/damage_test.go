package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func openRuns(t testing.TB) *Dir {
	t.Helper()
	d, err := OpenDir(filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sample(iteration int) *Checkpoint {
	return &Checkpoint{
		Meta: Meta{Run: "r1", Agent: "writer", Prompt: "go\non"}, Iteration: iteration, Phases: []string{"plan"},
		Messages: []json.RawMessage{[]byte(`{"role":"user"}`), []byte(`2`)}, Data: json.RawMessage(`{}`),
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view is what a store remembers of run r1: its iteration, with ! if a newer checkpoint is damaged.
func view(t testing.TB, d *Dir) string {
	t.Helper()
	c, err := d.Load(t.Context(), "r1")
	switch {
	case errors.Is(err, ErrNotFound):
		return "none"
	case errors.Is(err, ErrDamaged) && c == nil:
		return "!"
	case errors.Is(err, ErrDamaged):
		return fmt.Sprint(c.Iteration, "!")
	}
	must(t, err)
	return fmt.Sprint(c.Iteration)
}

// events is what the log of run r1 holds.
func events(t testing.TB, d *Dir) string {
	t.Helper()
	var b bytes.Buffer
	for e, err := range d.Since(t.Context(), "r1", 0) {
		if errors.Is(err, ErrDamaged) {
			b.WriteString("! ")
			continue
		}
		must(t, err)
		fmt.Fprintf(&b, "%s%d ", e.Kind, e.Seq)
	}
	return b.String()
}

// Whatever byte the newest checkpoint ends at, and whichever bit of it is wrong, it is not believed: the one before is
// returned, and the damage is reported. The next Save continues from there.
func TestSpoiltCheckpoint(t *testing.T) {
	t.Parallel()
	d := openRuns(t)
	must(t, d.Save(t.Context(), sample(1)))
	must(t, d.Save(t.Context(), sample(2)))
	p, err := d.files("r1")
	must(t, err)
	whole, err := os.ReadFile(p.newest)
	must(t, err)
	check := func(what string, b []byte, heal bool) {
		t.Helper()
		must(t, os.WriteFile(p.newest, b, 0o600))
		if got := view(t, d); got != "1!" {
			t.Fatalf("%s: %s", what, got)
		}
		if !heal {
			return
		}
		must(t, d.Save(t.Context(), sample(3)))
		if got := view(t, d); got != "3" {
			t.Fatalf("%s, then saved: %s", what, got)
		}
		if b, err := os.ReadFile(p.previous); err != nil || !bytes.Contains(b, []byte(`"iteration":1`)) {
			t.Fatalf("%s, then saved: %v, the good one before is lost", what, err)
		}
	}
	for n := range whole {
		check(fmt.Sprintf("cut to %d bytes", n), whole[:n], n%16 == 0)
		b := bytes.Clone(whole)
		b[n] ^= 1 << (n % 8)
		check(fmt.Sprintf("bit %d of byte %d flipped", n%8, n), b, false)
	}
	check("longer by a byte", append(bytes.Clone(whole), '\n'), true)
	must(t, os.Remove(p.newest))
	if got := view(t, d); got != "1!" {
		t.Fatalf("gone: %s", got)
	}
	must(t, os.WriteFile(p.previous, whole[1:], 0o600))
	if got := view(t, d); got != "!" {
		t.Fatalf("both spoilt: %s", got)
	}
}

// triesAgain reports whether a step is the one before once more: a lock that is not free, as a process that
// another test is about to start has a copy of its file for a moment.
func triesAgain(steps []string, what string) bool {
	return strings.HasPrefix(what, "lock ") && len(steps) > 0 && steps[len(steps)-1] == what
}

// Content is synced before it gets its name, and the name before the call returns.
func TestOrderOfWriting(t *testing.T) {
	t.Parallel()
	d := openRuns(t)
	var steps []string
	d.disk.step = func(what string) error {
		if !triesAgain(steps, what) {
			steps = append(steps, what)
		}
		return nil
	}
	did := func(what string, want ...string) {
		t.Helper()
		if got := strings.Join(steps, ", "); got != strings.Join(want, ", ") {
			t.Errorf("%s: %s\nwant %s", what, got, strings.Join(want, ", "))
		}
		steps = nil
	}
	const tmp = ".checkpoint.json.loops-tmp"
	must(t, opSave(1)(d))
	did("first save", "mkdir r1", "sync runs", "lock lock", "create "+tmp, "write "+tmp, "sync "+tmp, "sync runs",
		"rename checkpoint.json", "sync r1")
	must(t, opSave(2)(d))
	did("save", "lock lock", "create "+tmp, "write "+tmp, "sync "+tmp, "link previous.json", "rename previous.json",
		"rename checkpoint.json", "sync r1")
	must(t, opAppend("a")(d))
	did("first append", "lock events.jsonl", "append events.jsonl", "sync events.jsonl", "sync r1", "sync runs")
	must(t, opAppend("a", "b")(d))
	did("append", "lock events.jsonl", "append events.jsonl", "sync events.jsonl")
	must(t, opDelete(d))
	did("delete", "lock lock", "remove previous.json", "sync r1", "remove checkpoint.json", "sync r1", "remove lock")
	must(t, opClear(d))
	did("clear", "lock events.jsonl", "remove events.jsonl", "sync r1")

	st, dir := openStages(t)
	parent := "sync " + filepath.Base(filepath.Dir(dir))
	st.disk.step = d.disk.step
	must(t, st.Save(t.Context(), "x", []byte("1")))
	replaced := func(name string) []string {
		tmp := "." + name + ".loops-tmp"
		return []string{"create " + tmp, "write " + tmp, "sync " + tmp, "rename " + name, "sync stages"}
	}
	value, manifest := replaced("x.json"), replaced("manifest.json")
	did("first stage", slices.Concat([]string{"mkdir stages", parent, "lock .lock", parent}, value, manifest)...)
	must(t, st.Save(t.Context(), "x", []byte("1")))
	did("stage", slices.Concat([]string{"lock .lock"}, value)...)
}

// The lock of a file that was removed just before it was taken is no lock: it is taken on the file that is there then.
func TestLockOfRemovedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "lock")
	d := disk{dirMode: 0o755, fileMode: 0o600}
	count := 0
	d.step = func(what string) error {
		if what == "lock lock" {
			if count++; count == 1 { // the file is open, not locked yet: the last holder removes it, with its folder
				return os.RemoveAll(filepath.Dir(path))
			}
		}
		return nil
	}
	f, err := d.lock(t.Context(), path, lockMake)
	must(t, err)
	defer f.Close()
	a, err := f.Stat()
	must(t, err)
	b, err := os.Stat(path)
	must(t, err)
	if !os.SameFile(a, b) || count != 2 {
		t.Fatalf("the lock is on a file that is gone, after %d tries", count)
	}
}

func threeEvents(t *testing.T) (d *Dir, path string, whole []byte, ends []int) {
	t.Helper()
	d = openRuns(t)
	d.disk.noSync = true
	d.Clock = func() time.Time { return time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC) }
	for _, kind := range []string{"a", "b", "c"} {
		_, err := d.Append(t.Context(), "r1", Event{Kind: kind, Data: json.RawMessage(`["J"]`)})
		must(t, err)
	}
	p, err := d.files("r1")
	must(t, err)
	whole, err = os.ReadFile(p.events)
	must(t, err)
	for i, c := range whole {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	return d, p.events, whole, ends
}

// Whatever byte a log ends at, the events up to there are whole, and the next one has the next number.
func TestTornLog(t *testing.T) {
	t.Parallel()
	d, path, whole, ends := threeEvents(t)
	for n := range len(whole) + 1 {
		must(t, os.WriteFile(path, whole[:n], 0o600))
		want, count := "", uint64(0)
		for i, end := range ends {
			if end <= n {
				want, count = want+fmt.Sprintf("%c%d ", 'a'+i, i+1), uint64(i+1)
			}
		}
		if got := events(t, d); got != want {
			t.Fatalf("%d of %d bytes: %q, want %q", n, len(whole), got, want)
		}
		got, err := d.Append(t.Context(), "r1", Event{Kind: "z"})
		if err != nil || got != count+1 {
			t.Fatalf("%d bytes: appended %d, %v", n, got, err)
		}
		if got := events(t, d); got != want+fmt.Sprintf("z%d ", count+1) {
			t.Fatalf("%d bytes, then appended: %q", n, got)
		}
	}
}

// Whichever bit of a log is wrong, no event is wrong, what is missing is reported, and no number is given twice.
func TestSpoiltLog(t *testing.T) {
	t.Parallel()
	d, path, whole, ends := threeEvents(t)
	for n := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[n] ^= 1 << bit
			must(t, os.WriteFile(path, b, 0o600))
			want := ""
			switch {
			case n == len(whole)-1: // the last line end: all else is there
				want = "a1 b2 c3 "
			case n == ends[0]-1:
				want = "! c3 "
			case n == ends[1]-1:
				want = "a1 ! "
			case n < ends[0]:
				want = "! b2 c3 "
			case n < ends[1]:
				want = "a1 ! c3 "
			default:
				want = "a1 b2 ! "
			}
			// A bit that makes a line end in the middle of a line makes two damaged lines of it.
			if b[n] == '\n' {
				want = string(bytes.Replace([]byte(want), []byte("! "), []byte("! ! "), 1))
			}
			if got := events(t, d); got != want {
				t.Fatalf("bit %d of byte %d: %q, want %q", bit, n, got, want)
			}
			if bit > 0 && b[n] != '\n' {
				continue
			}
			next, err := d.Append(t.Context(), "r1", Event{Kind: "z"})
			if err != nil || next < 4 || next > 5 || b[n] != '\n' && next != 4 {
				t.Fatalf("bit %d of byte %d: appended %d, %v", bit, n, next, err)
			}
			if got := events(t, d); got != want+fmt.Sprintf("z%d ", next) {
				t.Fatalf("bit %d of byte %d, then appended: %q", bit, n, got)
			}
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	at := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	whole, err := Encode(sample(3), at)
	must(f, err)
	f.Add(whole, uint(0), byte(0), uint(0))
	f.Add(whole, uint(9), byte(1), uint(3))
	f.Add([]byte("{}\n{}\n"), uint(0), byte(0), uint(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint, flip byte, cut uint) {
		// Bytes of any kind, with and without a checksum that holds.
		for _, b := range [][]byte{b, appendSum(bytes.Clone(b))} {
			c, err := decode(b, "r1", true)
			if (c == nil) != (err != nil) {
				t.Fatalf("%v, %+v", err, c)
			}
			if c == nil {
				continue
			}
			again, err := Encode(c, c.SavedAt)
			must(t, err)
			back, err := decode(again, "r1", true)
			must(t, err)
			if third, err := Encode(back, back.SavedAt); err != nil || !bytes.Equal(third, again) {
				t.Fatalf("%s\nthen\n%s", again, third)
			}
		}
		// A good one with a spoilt byte and cut at the end.
		spoilt := bytes.Clone(whole)
		spoilt[at%uint(len(spoilt))] ^= flip
		spoilt = spoilt[:uint(len(spoilt))-cut%uint(len(spoilt))]
		if _, err := decode(spoilt, "r1", true); (err == nil) != bytes.Equal(spoilt, whole) {
			t.Fatalf("%v for %q", err, spoilt)
		}
	})
}

func FuzzLog(f *testing.F) {
	at := time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)
	var lines []byte
	for i := range 3 {
		var err error
		lines, err = appendEvent(lines,
			Event{Seq: uint64(i + 1), Time: at, Kind: "a", Data: json.RawMessage(`{"seq":1}`)})
		must(f, err)
	}
	f.Add(lines)
	f.Add(lines[:len(lines)-1])
	f.Add(lines[40:])
	f.Add(append(bytes.Clone(lines), lines...))
	f.Add([]byte("\n\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := openRuns(t)
		d.disk.noSync = true
		p, err := d.files("r1")
		must(t, err)
		must(t, os.Mkdir(p.folder, 0o700))
		must(t, os.WriteFile(p.events, b, 0o600))
		before := events(t, d)
		last := uint64(0)
		for e, err := range d.Since(t.Context(), "r1", 0) {
			if err == nil {
				if e.Seq <= last {
					t.Fatalf("%d behind %d", e.Seq, last)
				}
				last = e.Seq
			}
		}
		n, err := d.Append(t.Context(), "r1", Event{Kind: "z"})
		if err != nil || n <= last {
			t.Fatalf("appended %d behind %d: %v", n, last, err)
		}
		if after := events(t, d); after != before+fmt.Sprintf("z%d ", n) {
			t.Fatalf("%q, then %q", before, after)
		}
	})
}
