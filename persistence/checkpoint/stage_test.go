package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var today = time.Date(2026, 11, 21, 23, 59, 59, 0, time.UTC)

func openStages(t testing.TB) (*Stages, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stages")
	s := OpenStages(dir)
	s.Clock = func() time.Time { return today }
	return s, dir
}

func begun(resume bool, date string, completed ...string) string {
	return fmt.Sprint(resume, " ", date, " ", completed)
}

func beginText(t testing.TB, s *Stages) string {
	t.Helper()
	b, err := s.Begin(t.Context())
	must(t, err)
	return begun(b.Resume, b.RunDate, b.Completed...)
}

func equal(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	equal(t, beginText(t, s), begun(false, "2026-11-21"))
	equal(t, beginText(t, s), begun(true, "2026-11-21"))
	_, err := s.Load(t.Context(), "fetch")
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("error is %v", err)
	}
	for _, name := range []string{"plan", "fetch", "plan"} {
		must(t, s.Save(t.Context(), name, []byte(" {\"of\":\n\t\""+name+"\"}\r\n\n")))
	}
	b, err := s.Load(t.Context(), "plan")
	must(t, err)
	equal(t, string(b), " {\"of\":\n\t\"plan\"}\r\n\n")
	b, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	must(t, err)
	equal(t, string(b), `{"schema_version":1,"run_date":"2026-11-21","completed":["plan","fetch"]}`+"\n")
	equal(t, beginText(t, s), begun(true, "2026-11-21", "plan", "fetch"))

	// Past midnight in UTC, a script that has begun continues, and the next one starts afresh.
	s.Clock = func() time.Time { return today.Add(time.Second).In(time.FixedZone("west", -9*3600)) }
	must(t, s.Save(t.Context(), "late", []byte("1")))
	_, err = s.Load(t.Context(), "fetch")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644))
	equal(t, beginText(t, s), begun(false, "2026-11-22"))
	if _, err := s.Load(t.Context(), "fetch"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("error is %v", err)
	}
	equal(t, names(t, dir), ".lock manifest.json package.json")

	must(t, s.Save(t.Context(), "fetch", []byte("2")))
	for range 2 {
		must(t, s.Done(t.Context()))
		equal(t, names(t, dir), "package.json")
	}
	equal(t, beginText(t, s), begun(false, "2026-11-22"))
}

func names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// Without Begin and without a folder, things are what they seem.
func TestStagesWithoutBegin(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	must(t, s.Done(t.Context()))
	if _, err := s.Load(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("error is %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("reading made %s: %v", dir, err)
	}
	must(t, s.Save(t.Context(), "x", []byte("1")))
	equal(t, beginText(t, s), begun(true, "2026-11-21", "x"))
}

func TestStageNames(t *testing.T) {
	t.Parallel()
	s, _ := openStages(t)
	for _, name := range []string{"a", "0", "a-b_c9", "a_", strings.Repeat("x", 200), "con"} {
		must(t, s.Save(t.Context(), name, []byte("0")))
		_, err := s.Load(t.Context(), name)
		must(t, err)
	}
	for _, name := range []string{
		"", "-a", "_a", "A", "aB", "a b", "a.b", ".", "..", "../x", "a/b", "ä", "a\n",
		"a\x00", strings.Repeat("x", 201), "manifest",
	} {
		if err := s.Save(t.Context(), name, []byte("0")); !errors.Is(err, ErrStageName) {
			t.Errorf("save %q: %v", name, err)
		}
		if _, err := s.Load(t.Context(), name); !errors.Is(err, ErrStageName) {
			t.Errorf("load %q: %v", name, err)
		}
	}
}

func TestStageValues(t *testing.T) {
	t.Parallel()
	s, _ := openStages(t)
	for _, good := range []string{
		"null", " 1 ", "\"\"", "[1e999, 12345678901234567890]", "{\"a\":1,\"a\":2}\n",
		"\"\\ud800\"", "\"\u2028\"", strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		must(t, s.Save(t.Context(), "x", []byte(good)))
		b, err := s.Load(t.Context(), "x")
		must(t, err)
		equal(t, string(b), good)
	}
	must(t, s.Save(t.Context(), "x", []byte("1")))
	for bad, want := range map[string]string{
		"":                        "not JSON: there is nothing",
		" \n":                     "not JSON: there is nothing",
		"{\"a\": 1,\n \"b\" 2}":   "not JSON: line 2, column 6: invalid character '2' after object key",
		"[1, 2":                   "not JSON: line 1, column 6: unexpected end of JSON input",
		"1 2":                     "not JSON: line 1, column 3: invalid character '2' after top-level value",
		"NaN":                     "not JSON: line 1, column 1: invalid character 'N' looking for beginning of value",
		"\"é\" x":                 "not JSON: line 1, column 5: invalid character 'x' after top-level value",
		"\"\xe9\"":                "not JSON: byte 1 is not UTF-8",
		"\ufeff{}":                "not JSON: line 1, column 1: invalid character 'ï' looking for beginning of value",
		strings.Repeat("[", 1<<5): "not JSON: line 1, column 33: unexpected end of JSON input",
	} {
		err := s.Save(t.Context(), "x", []byte(bad))
		if !errors.Is(err, ErrNotJSON) || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", bad, err, want)
		}
	}
	if b, err := s.Load(t.Context(), "x"); err != nil || string(b) != "1" {
		t.Fatalf("%v, %q", err, b)
	}
}

// A damaged manifest, or a value that is gone or damaged, is reported; Begin works in spite of it.
func TestDamagedStages(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	manifest := filepath.Join(dir, "manifest.json")
	aside := map[string]string{}
	for text, why := range map[string]string{
		"":     "there is nothing",
		"{":    "unexpected end",
		"null": "schema_version is 0",
		"[]":   "form of a manifest",
		`{"schema_version":2,"run_date":"2026-11-21","completed":[]}`:               "schema_version is 2",
		`{"schema_version":1,"run_date":"today","completed":[]}`:                    `run_date "today"`,
		`{"schema_version":1,"run_date":"2026-11-21"}`:                              "completed is missing",
		`{"schema_version":1,"run_date":"2026-11-21","completed":["x",7]}`:          "form of a manifest",
		`{"schema_version":1,"run_date":"2026-11-21","completed":["../secret"]}`:    `completed names "../secret"`,
		`{"schema_version":1,"run_date":"2026-11-21","completed":["x","manifest"]}`: `completed names "manifest"`,
		`{"schema_version":1,"run_date":"2026-11-21","completed":["x","x"]}`:        `completed names "x"`,
		"\xff": "not UTF-8",
	} {
		must(t, s.Save(t.Context(), "x", []byte("1")))
		must(t, os.WriteFile(manifest, []byte(text), 0o644))
		is := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), why) ||
				!strings.Contains(err.Error(), manifest) {
				t.Errorf("%s with %q: %v, want %s", what, text, err, why)
			}
		}
		_, err := s.Load(t.Context(), "x")
		is("load", err)
		err = s.Save(t.Context(), "y", []byte("2"))
		is("save", err)
		if damage, ok := errors.AsType[*DamageError](err); ok {
			aside[damage.Kept] = text
		}
		for path, was := range aside {
			if kept, err := os.ReadFile(path); err != nil || string(kept) != was {
				t.Errorf("kept as %s is %q, %v; want %q", path, kept, err, was)
			}
		}
		if y, err := s.Load(t.Context(), "y"); err != nil || string(y) != "2" {
			t.Errorf("load what was saved beside the damage: %q, %v", y, err)
		}
		equal(t, beginText(t, s), begun(true, "2026-11-21", "y"))
		must(t, os.WriteFile(manifest, []byte(text), 0o644))
		b, err := s.Begin(t.Context())
		is("begin", err)
		equal(t, begun(b.Resume, b.RunDate, b.Completed...), begun(false, "2026-11-21"))
		equal(t, beginText(t, s), begun(true, "2026-11-21"))
		if _, err := s.Load(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
			t.Errorf("load behind begin: %v", err)
		}
		must(t, os.WriteFile(manifest, []byte(text), 0o644))
		is("done", s.Done(t.Context()))
		must(t, s.Done(t.Context()))
		must(t, os.Remove(filepath.Join(dir, "y.json")))
	}
	equal(t, fmt.Sprint(len(aside)), "12") // none took the place of another
	must(t, os.WriteFile(manifest, []byte("{"), 0o644))
	if err := s.Save(t.Context(), "y", []byte("2")); !errors.Is(err, ErrDamaged) {
		t.Errorf("save beside a manifest that is damaged as an earlier one was: %v", err)
	}
	equal(t, fmt.Sprint(strings.Count(names(t, dir), "manifest.damaged")), "12")
	must(t, s.Done(t.Context()))

	for _, name := range []string{"a", "b", "c", "d"} {
		must(t, s.Save(t.Context(), name, []byte("1")))
	}
	must(t, os.Remove(filepath.Join(dir, "b.json")))
	must(t, os.WriteFile(filepath.Join(dir, "d.json"), []byte("[1"), 0o644))
	if _, err := s.Load(t.Context(), "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("load what is gone: %v", err)
	}
	if _, err := s.Load(t.Context(), "d"); !errors.Is(err, ErrDamaged) {
		t.Errorf("load what is damaged: %v", err)
	}
	b, err := s.Begin(t.Context())
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "b.json") ||
		!strings.Contains(err.Error(), "d.json") {
		t.Errorf("error is %v", err)
	}
	equal(t, begun(b.Resume, b.RunDate, b.Completed...), begun(true, "2026-11-21", "a", "c"))
	equal(t, beginText(t, s), begun(true, "2026-11-21", "a", "c"))
}

func TestStageModes(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	must(t, s.Save(t.Context(), "x", []byte("1")))
	for _, name := range []string{"x.json", "manifest.json"} {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&^0o644 != 0 {
			t.Fatalf("%s: %v, %v", name, err, st.Mode())
		}
		must(t, os.Chmod(path, 0o606))
	}
	must(t, s.Save(t.Context(), "x", []byte("2")))
	must(t, s.Save(t.Context(), "y", []byte("3")))
	for _, name := range []string{"x.json", "manifest.json"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o606 {
			t.Errorf("%s: %v, mode %v", name, err, st.Mode())
		}
	}
}

// What is in the place of a file or folder is named, and nothing is changed.
func TestUnusableStages(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	must(t, os.WriteFile(dir, nil, 0o644))
	is := func(what string, err error, want string) {
		t.Helper()
		if err == nil || errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotFound) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	all := func(want string) {
		t.Helper()
		_, err := s.Begin(t.Context())
		is("begin", err, want)
		is("save", s.Save(t.Context(), "x", []byte("1")), want)
		_, err = s.Load(t.Context(), "x")
		is("load", err, want)
		is("done", s.Done(t.Context()), want)
	}
	all("not a directory")
	must(t, os.Remove(dir))
	must(t, os.MkdirAll(filepath.Join(dir, "manifest.json"), 0o755))
	all("not a regular file but a directory")
	must(t, os.RemoveAll(dir))
	must(t, os.MkdirAll(filepath.Join(dir, "x.json", "sub"), 0o755))
	is("save", s.Save(t.Context(), "x", []byte("1")), "x.json")
	must(t, s.Save(t.Context(), "y", []byte("1")))
	equal(t, beginText(t, s), begun(true, "2026-11-21", "y"))
}

// Saves at once lose none of each other's entries, and a Begin between them none of them.
func TestParallelSaves(t *testing.T) {
	t.Parallel()
	s, dir := openStages(t)
	equal(t, beginText(t, s), begun(false, "2026-11-21"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			mine := OpenStages(dir)
			mine.Clock = s.Clock
			for j := range 4 {
				name := fmt.Sprintf("s%d-%d", i, j)
				if err := mine.Save(t.Context(), name, []byte(`"`+name+`"`)); err != nil {
					t.Errorf("save: %v", err)
				}
				if b, err := mine.Load(t.Context(), name); err != nil || string(b) != `"`+name+`"` {
					t.Errorf("load: %v, %q", err, b)
				}
			}
			if b, err := mine.Begin(t.Context()); err != nil || !b.Resume ||
				!slices.Contains(b.Completed, fmt.Sprintf("s%d-3", i)) {
				t.Errorf("begin: %v, %+v", err, b)
			}
		})
	}
	wg.Wait()
	if b, err := s.Begin(t.Context()); err != nil || len(b.Completed) != 32 {
		t.Errorf("%v, %+v", err, b)
	}
}

// A user who keeps the lock is waited for, not for ever.
func TestBusy(t *testing.T) {
	t.Parallel()
	s, _ := openStages(t)
	must(t, s.Save(t.Context(), "x", []byte("1")))
	f, err := os.Open(s.lock)
	must(t, err)
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	s.disk.patience = 20 * time.Millisecond
	if err := s.Save(t.Context(), "y", []byte("1")); !errors.Is(err, ErrBusy) ||
		!strings.Contains(err.Error(), s.lock) {
		t.Errorf("error is %v", err)
	}
	s.disk.patience = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if err := s.Save(ctx, "y", []byte("1")); !errors.Is(err, why) {
		t.Errorf("error is %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = f.Close() })
	must(t, s.Save(t.Context(), "y", []byte("1")))
	if b, err := s.Load(t.Context(), "x"); err != nil || string(b) != "1" { // never waits
		t.Errorf("%v, %q", err, b)
	}
}

// A stageOp is one step of a script on a day, with what there is after it.
type stageOp struct {
	day   int
	what  string // begin, done, or NAME=VALUE
	state string // stages in the manifest with their values
}

var stageScript = []stageOp{
	{0, "begin", ""},
	{0, "a=1", "a=1"},
	{0, "b=2", "a=1 b=2"},
	{0, "a=3", "a=3 b=2"},
	{0, "begin", "a=3 b=2"},
	{1, "c=4", "a=3 b=2 c=4"},
	{1, "begin", ""},
	{1, "b=5", "b=5"},
	{1, "d=6", "b=5 d=6"},
	{1, "done", ""},
	{1, "done", ""},
}

func (o stageOp) do(s *Stages) error {
	ctx := context.Background()
	s.Clock = func() time.Time { return today.Add(time.Duration(o.day) * 24 * time.Hour) }
	switch name, value, _ := strings.Cut(o.what, "="); name {
	case "begin":
		_, err := s.Begin(ctx)
		return err
	case "done":
		return s.Done(ctx)
	default:
		return s.Save(ctx, name, []byte(value))
	}
}

// stageState is what can be loaded, in the order of the manifest.
func stageState(t *testing.T, s *Stages) string {
	t.Helper()
	m, err := s.readManifest()
	if !errors.Is(err, os.ErrNotExist) {
		must(t, err)
	}
	var list []string
	for _, name := range m.Completed {
		b, err := s.Load(t.Context(), name)
		must(t, err)
		list = append(list, name+"="+string(b))
	}
	return strings.Join(list, " ")
}

func stateAfter(n int) string {
	if n == 0 {
		return ""
	}
	return stageScript[n-1].state
}

// A script that is killed before any change of any file finds what it saved, and whole.
func TestStagesKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	points, all := killPoints(t, func(step func(string) error) error {
		s := OpenStages(filepath.Join(t.TempDir(), "stages"))
		s.disk.step, s.disk.noSync = step, true
		return play(stageScript, 0, func(op stageOp) error { return op.do(s) }, func(int) {})
	})
	for _, n := range append(points, all+1) {
		dir := filepath.Join(t.TempDir(), "stages")
		acked, killed := run(t, fmt.Sprint("stages:", n), dir)
		s := OpenStages(dir)
		s.disk.noSync = true
		if !killed {
			if acked != len(stageScript) || n != all+1 || n < 80 {
				t.Fatalf("ended by itself at change %d, %d done", n, acked)
			}
			leftOver(t, dir)
			continue
		}
		got := stageState(t, s)
		if got != stateAfter(acked) && got != stateAfter(acked+1) {
			t.Fatalf("killed at change %d behind step %d: %q, want %q or %q", n, acked, got, stateAfter(acked),
				stateAfter(acked+1))
		}
		op := stageScript[acked]
		s.Clock = func() time.Time { return today.Add(time.Duration(op.day) * 24 * time.Hour) }
		b, err := s.Begin(t.Context())
		must(t, err)
		want := got
		if op.what == "begin" {
			want = op.state
		}
		if op.day == 1 && acked < 7 {
			want = "" // Begin is on another day than the manifest
		}
		if now := stageState(t, s); now != want || len(b.Completed) != len(strings.Fields(want)) {
			t.Fatalf("killed at change %d behind step %d: %q, then Begin says %+v and there is %q, want %q", n, acked,
				got, b, now, want)
		}
		if got == want { // the script continues
			must(t, play(stageScript, acked, func(op stageOp) error {
				err := op.do(s)
				if got := stageState(t, s); err == nil && got != op.state {
					err = fmt.Errorf("%q, want %q", got, op.state)
				}
				return err
			}, func(int) {}))
		}
		must(t, s.Done(t.Context()))
		if name, _, isSave := strings.Cut(op.what, "="); isSave && got == stateAfter(acked) && want == "" {
			_ = os.Remove(s.value(name)) // its first Save was killed before the manifest named it
		}
		leftOver(t, dir)
	}
}

// A change that fails because the disk is full is reported, and what was saved is still there.
func TestStagesNoRoomAtEveryStep(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "stages")
		s := OpenStages(dir)
		s.disk.noSync = true
		left, failed := n, 0
		s.disk.step = func(what string) error {
			if left--; left == 0 {
				return &os.PathError{Op: what, Path: "x", Err: syscall.ENOSPC}
			}
			return nil
		}
		for i, op := range stageScript {
			err := op.do(s)
			if got := stageState(t, s); err != nil && got != stateAfter(i) && got != op.state || err == nil &&
				got != op.state {
				t.Fatalf("change %d, step %d: %v, %q, want %q", n, i, err, got, op.state)
			}
			if err == nil {
				continue
			}
			if failed++; !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("change %d, step %d: %v", n, i, err)
			}
			must(t, op.do(s))
			if got := stageState(t, s); got != op.state {
				t.Fatalf("change %d, step %d, again: %q, want %q", n, i, got, op.state)
			}
			break
		}
		s.disk.step = nil
		must(t, s.Done(t.Context()))
		leftOver(t, dir)
		if failed == 0 {
			if n < 80 {
				t.Fatalf("only %d changes", n)
			}
			return
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"run_date":"2026-11-21","completed":["a","keep"]}`), "a")
	f.Add([]byte(`{"schema_version":1,"run_date":"2026-11-20","completed":["a","b"]}`), "b")
	f.Add([]byte(`{"schema_version":1,"run_date":"2026-11-20","completed":["../outside"]}`), "../outside")
	f.Add([]byte(`{"schema_version":1,"run_date":"2026-11-21","completed":null}`), "")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		s, dir := openStages(t)
		s.disk.noSync = true
		outside := filepath.Join(filepath.Dir(dir), "outside.json")
		must(t, os.Mkdir(dir, 0o755))
		for _, path := range []string{
			outside, s.manifest, s.cleared, filepath.Join(dir, "a.json"),
			filepath.Join(dir, "other.txt"),
		} {
			b := []byte("1")
			if path == s.manifest || path == s.cleared {
				b = text
			}
			must(t, os.WriteFile(path, b, 0o644))
		}
		if _, err := s.Begin(t.Context()); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		again, err := s.Begin(t.Context())
		must(t, err)
		if !again.Resume || again.RunDate != "2026-11-21" {
			t.Fatalf("%+v", again)
		}
		for _, n := range again.Completed {
			_, err := s.Load(t.Context(), n)
			must(t, err)
		}
		if err := s.Save(t.Context(), name, []byte("2")); (err == nil) != (CheckStage(name) == nil) {
			t.Fatalf("save %q: %v", name, err)
		} else if err == nil {
			if b, err := s.Load(t.Context(), name); err != nil || string(b) != "2" {
				t.Fatalf("%v, %q", err, b)
			}
		}
		must(t, s.Done(t.Context()))
		for _, path := range []string{outside, filepath.Join(dir, "other.txt")} {
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
		}
	})
}
