package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "logs", "a.log")
	write := func(texts ...string) {
		l, err := OpenLog(path, 10, 2, func(*os.File) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatalf("%q: %d, %v", text, n, err)
			}
		}
		if err := l.file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		texts []string
		want  []string // the newest file first
	}{
		{[]string{"one\n", "two\n"}, []string{"one\ntwo\n"}},
		{[]string{"3\n"}, []string{"one\ntwo\n3\n"}}, // a log that is there is continued
		{[]string{"four\n"}, []string{"four\n", "one\ntwo\n3\n"}},
		{[]string{"one that is too long\n"}, []string{"one that is too long\n", "four\n", "one\ntwo\n3\n"}},
		{[]string{"six\n"}, []string{"six\n", "one that is too long\n", "four\n"}}, // the oldest goes
	} {
		write(c.texts...)
		var got []string
		for _, end := range []string{"", ".1", ".2", ".3"} {
			if b, err := os.ReadFile(path + end); err == nil {
				got = append(got, string(b))
			}
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("after %q: %q, want %q", c.texts, got, c.want)
		}
	}
}

// A folder that is taken away does not end the run: its log begins again where that is possible.
func TestRunLogTakenAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "logs", "a.log")
	l, err := OpenLog(path, 4, 1, func(*os.File) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("full")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); string(b) != "more" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
}
