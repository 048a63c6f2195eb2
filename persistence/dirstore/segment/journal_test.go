package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/snapshot"
)

const (
	plain  = `{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": %d}`
	output = `{"event": "action_output", "ts": "2026-11-21T08:37:17Z", "seq": %d}`
	patch  = `{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": %d, "memory": {}}`
	whole  = `{"event": "route", "ts": "2026-11-21T08:37:17Z", "seq": %d, "memory_full": {"x": 1}}`
)

// summed returns an event as a line of a journal.
func summed(form string, seq int) string {
	b := fmt.Appendf(nil, form, seq)
	if form == whole {
		return string(snapshot.AppendFirstSum(b, 0)) + "\n"
	}
	return string(snapshot.AppendSum(b, 0)) + "\n"
}

func unsummed(form string, seq int) string { return fmt.Sprintf(form, seq) + "\n" }

// told is what reading a file yielded: the numbers of events, and where what was damaged.
func told(path string, after uint64) (list []string) {
	r := Forward{After: after, Yield: func(e fsm.Event, err error) bool {
		if d, ok := errors.AsType[*persistence.DamageError](err); ok {
			list = append(list, fmt.Sprintf("%d: %s", d.Offset, d.What))
		} else {
			list = append(list, fmt.Sprint(e.Seq))
		}
		return true
	}}
	f, err := os.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	if err := r.Read(f, path); err != nil {
		list = append(list, err.Error())
	}
	r.End(path, 0)
	return list
}

// backward is the numbers of the events from the last to the first.
func backward(path string) (list []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = new(Backward).Read(f, func(e fsm.Event) bool {
		list = append(list, fmt.Sprint(e.Seq))
		return true
	})
	return list, err
}

// What a reader believes of a file, forward and backward: whole lines whose checksum holds, in their order, and
// of a batch whose memory never came nothing but output.
func TestWhatIsBelieved(t *testing.T) {
	t.Parallel()
	first, second := summed(whole, 1), summed(patch, 2)
	spoilt := strings.Replace(second, "route", "roote", 1)
	for _, c := range []struct{ name, text, forward, backward string }{
		{"sound", first + second, "1 2", "2 1"},
		{"empty", "", "", ""},
		{"a blank line", first + "\n" + second, "1 2", "2 1"},
		{"line ends of another system", strings.ReplaceAll(first+second, "\n", "\r\n"), "1 2", "2 1"},
		{"no end of the last line", first + strings.TrimSuffix(second, "\n"), "1", "1"},
		{
			"a line that was changed", first + spoilt + summed(patch, 3),
			fmt.Sprintf("1 %d: the checksum of the line does not hold 3", len(first)), "3 1",
		},
		{
			"a line that is missing", first + summed(patch, 3), fmt.Sprintf("1 %d: event 2 is missing 3", len(first)),
			"3 1",
		},
		{
			"lines that are missing", first + summed(patch, 4),
			fmt.Sprintf("1 %d: events 2 to 3 are missing 4", len(first)), "4 1",
		},
		{
			"a line that is there twice", first + second + second,
			fmt.Sprintf("1 2 %d: event 2 follows event 2", len(first+second)), "2 2 1",
		},
		{
			"a line whose checksum is gone", first + unsummed(patch, 2),
			fmt.Sprintf("1 %d: the line has no checksum", len(first)), "1",
		},
		{"lines of little-loops before ours", unsummed(plain, 1) + summed(whole, 2), "1 2", "2 1"},
		{"a batch without its memory", first + summed(plain, 2), "1", "1"},
		{"output without memory", first + summed(output, 2), "1 2", "2 1"},
		{"output of a batch without its memory", first + summed(plain, 2) + summed(output, 3), "1", "3 1"},
		{
			"a batch of three lines", first + summed(plain, 2) + summed(output, 3) + summed(patch, 4), "1 2 3 4",
			"4 3 2 1",
		},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(told(path, 0), " "); got != c.forward {
			t.Errorf("%s, forward: %q, want %q", c.name, got, c.forward)
		}
		got, err := backward(path)
		if err != nil || strings.Join(got, " ") != c.backward {
			t.Errorf("%s, backward: %q, %v, want %q", c.name, got, err, c.backward)
		}
	}
}

// However the lines lie in what is read at once, all of them come.
func TestBackwardOverBlocks(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	var want []string
	for n := range 60 {
		form := strings.Replace(patch, "route", "route"+strings.Repeat("x", n*n*n), 1)
		text.WriteString(summed(form, n+1))
		want = append([]string{fmt.Sprint(n + 1)}, want...)
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := backward(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// Whether the line that ends at an offset is that of an event.
func TestFits(t *testing.T) {
	t.Parallel()
	first, second := summed(whole, 1), summed(patch, 2)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(first+second), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		at   int
		seq  uint64
		fits bool
	}{
		{0, 0, true},
		{len(first), 1, true},
		{len(first), 2, false},
		{len(first) + 1, 1, false},
		{len(first + second), 2, true},
		{len(first+second) + 1, 2, false},
	} {
		if got, err := Fits(f, int64(c.at), c.seq); got != c.fits || err != nil {
			t.Errorf("event %d at byte %d: %v, %v, want %v", c.seq, c.at, got, err, c.fits)
		}
	}
}

// A folder of parts whose index is whole, damaged, behind, or gone is the same parts, and is put right by its owner.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, dir string) error
		damage string // what is reported of it
	}{
		{"whole", func(*testing.T, string) error { return nil }, ""},
		{
			"gone", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, IndexName)) },
			"it does not know 000001.jsonl",
		},
		{"behind", func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "000003.jsonl"), []byte(summed(whole, 5)), 0o600)
		}, ""},
		{"damaged", func(t *testing.T, dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, IndexName))
			return errors.Join(err,
				os.WriteFile(filepath.Join(dir, IndexName),
					bytes.Replace(b, []byte(`"first":1`), []byte(`"first":2`), 1), 0o600))
		}, "damaged at byte 0"},
	} {
		dir := t.TempDir()
		for n := range 2 {
			full := filepath.Join(dir, "full")
			text := summed(whole, 2*n+1) + summed(patch, 2*n+2)
			if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			// a number that is taken once
			p := Part{N: 1, First: uint64(2*n + 1), Last: uint64(2*n + 2), Bytes: int64(len(text))}
			if err := errors.Join(p.Retire(full, dir), p.Enter(dir)); err != nil || p.N != n+1 {
				t.Fatal(p, err)
			}
		}
		if err := c.spoil(t, dir); err != nil {
			t.Fatal(err)
		}
		parts, damage, err := Parts(dir)
		if err != nil || len(parts) < 2 || LastOf(parts[:1]) != 2 || LastOf(parts[:2]) != 4 {
			t.Errorf("%s: %+v, %v", c.name, parts, err)
		}
		if got := strings.Join(damage, " "); c.damage == "" && got != "" || !strings.Contains(got, c.damage) {
			t.Errorf("%s: damage %q, want %q", c.name, got, c.damage)
		}
		if err := RepairIndex(dir); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		again, damage, err := Parts(dir)
		if err != nil || len(damage) > 0 || len(again) != len(parts) {
			t.Errorf("%s: it was put right as %+v, %q, %v", c.name, again, damage, err)
		}
		for i, p := range again {
			if !p.Indexed || p.First != uint64(2*i+1) || p.Last != LastOf(parts[:i+1]) {
				t.Errorf("%s: part %d is %+v", c.name, i, p)
			}
		}
	}
}

// A journal between two parts has no newest file, and one without files is fs.ErrNotExist.
func TestOpenLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newest, older := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "events")
	if _, err := OpenLog(newest, older); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no files: %v", err)
	}
	if err := os.WriteFile(newest, []byte(summed(whole, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		parts int
		there bool
	}{{0, true}, {1, false}} {
		l, err := OpenLog(newest, older)
		if err != nil || len(l.Parts) != want.parts || l.Before() != want.parts || (l.Newest != nil) != want.there {
			t.Fatalf("%+v, %v, want %+v", l, err, want)
		}
		l.Close()
		if want.there {
			p := Part{N: 1, First: 1, Last: 1}
			if err := errors.Join(os.Mkdir(older, 0o700), p.Retire(newest, older)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What is behind any event of a long file is found whatever the lines before it are, and is what reading all of
// it yields.
func TestReadBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(line string, n int) string
	}{
		{"sound", func(line string, _ int) string { return line }},
		{"a long line", func(line string, n int) string {
			if n == 700 {
				return summed(strings.Replace(patch, "route", strings.Repeat("x", 3*nearEnough), 1), n)
			}
			return line
		}},
		{"a line that was changed", func(line string, n int) string {
			if n == 750 {
				return strings.Replace(line, "route", "roote", 1)
			}
			return line
		}},
		{"no numbers", func(line string, n int) string {
			if n < 500 {
				return strings.Replace(unsummed(plain, n), fmt.Sprintf(`, "seq": %d`, n), "", 1)
			}
			if n == 500 {
				return summed(whole, n)
			}
			return line
		}},
	} {
		var text strings.Builder
		for n := range 1500 {
			text.WriteString(c.spoil(summed(strings.Replace(patch, "route", strings.Repeat("y", 100), 1), n+1), n+1))
		}
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, after := range []uint64{0, 1, 3, 499, 500, 699, 700, 701, 1200, 1499, 1500, 1501} {
			var got, want []uint64
			into := func(list *[]uint64) func(fsm.Event, error) bool {
				return func(e fsm.Event, err error) bool {
					if err == nil {
						*list = append(*list, e.Seq)
					}
					return true
				}
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			all, rest := Forward{Yield: into(&want), After: after}, Forward{Yield: into(&got), After: after}
			err = all.Read(f, path)
			_, e := f.Seek(0, io.SeekStart)
			if err := errors.Join(err, e, rest.ReadBehind(f, path)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: behind event %d there are %d events, want %d", c.name, after, len(got), len(want))
			}
			_ = f.Close()
			if at, ok := rest.Position(); c.name == "sound" && (!ok || at.At != int64(text.Len())) {
				t.Errorf("%s: it stands at byte %d", c.name, at.At)
			}
		}
	}
}
