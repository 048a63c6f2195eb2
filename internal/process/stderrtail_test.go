package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What actions write is read once, line by line, up to the moment their file is removed; files of earlier
// actions are not read.
func TestTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "output")
	tail := &StderrTail{Dir: dir}
	t.Cleanup(tail.Close)
	read := func(want ...string) {
		t.Helper()
		var got []string
		tail.rest = time.Time{} // which a busy machine makes long
		tail.Read(func(_, text string) { got = append(got, text) })
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read() // there is no folder yet
	check(os.Mkdir(out, 0o700))
	old := filepath.Join(out, "000001-a.err")
	check(os.WriteFile(old, []byte("of an earlier action\n"), 0o600))
	check(os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	tail.Since = time.Now().Add(-time.Minute)
	check(os.WriteFile(filepath.Join(out, "000002-b.out"), []byte("standard output\n"), 0o600))
	f, err := os.Create(filepath.Join(out, "000002-b.err"))
	check(err)
	write := func(text string) { t.Helper(); _, err := f.WriteString(text); check(err) }
	read()
	write("one\ntwo\nthr")
	read("one\ntwo")
	read()
	write("ee\n")
	read("three")
	write("last, without an end")
	check(os.Remove(f.Name()))
	read("last, without an end")
	read()
	check(f.Close())
	f, err = os.Create(f.Name()) // the next one of that name
	check(err)
	write(strings.Repeat("x", longLine+1))
	read(strings.Repeat("x", longLine+1))
	check(f.Close())
	if at := Heard(dir); time.Since(at) > time.Minute {
		t.Errorf("heard at %v", at)
	}
	if at := Heard(t.TempDir()); !at.IsZero() {
		t.Errorf("heard at %v of nothing", at)
	}
}

// The record of an action adds nothing to what was shown of its file, and all to what was shown of another one.
func TestSaid(t *testing.T) {
	t.Parallel()
	var s Said
	s.Add("a", "one\ntwo")
	s.Add("b", "other")
	s.Add("a", "three")
	for _, c := range []struct {
		end  string
		want bool
	}{{"two\nother", false}, {"", false}, {"two\nthree", true}, {"two\nthree", false}, {"other\n", true}} {
		if got := s.Covers(c.end); got != c.want {
			t.Errorf("%q: %v, want %v", c.end, got, c.want)
		}
	}
}
