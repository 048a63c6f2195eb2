package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkOutcome holds what is true of every Outcome, whatever a host printed.
func checkOutcome(t *testing.T, h *CLI, r Request, stdout string, x Exit) {
	t.Helper()
	s := h.Stream(r)
	done, room := false, 0
	for _, line := range lines(stdout) {
		text, _ := s.Line([]byte(line))
		// What is read as one object may come with its last line.
		if room += 2*len(line) + 16 - len(text); room < 0 {
			t.Errorf("%d bytes of text in a line of %d", len(text), len(line))
		}
		if done && !s.Done() {
			t.Error("it was done, and then it was not")
		}
		done = s.Done()
	}
	o := s.End(x)
	if o.Failure == nil && !o.Complete {
		t.Error("neither complete nor failed")
	}
	if done && !o.Complete {
		t.Error("done but not complete")
	}
	if f := o.Failure; f != nil &&
		(f.Class == "" || strings.TrimSpace(f.Reason) == "" || strings.ContainsAny(f.Reason, "\n\r\x00\x1b") ||
			len(f.Reason) > 8<<10 || f.After < 0) {
		t.Errorf("a failure nobody can read: %+v", *f)
	}
	for _, u := range []Usage{o.Usage, o.Whole} {
		if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 {
			t.Errorf("negative usage: %+v", u)
		}
	}
	for _, word := range append([]string{o.Model, o.Session}, o.Denied...) {
		if len(word) > maxWord || !utf8.ValidString(word) {
			t.Errorf("%.300q is no name", word)
		}
	}
	if o.Coverage == "" {
		t.Error("no coverage")
	}
}

// TestTruncated cuts every recorded stream after each of its lines, and in the middle of each: what lacks its end is
// never a success.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"codex", "gemini", "kimi", "opencode"} {
		files, _ := filepath.Glob("testdata/" + name + "/*.stdout")
		if len(files) == 0 {
			t.Errorf("no recorded stream of %s", name)
		}
		h := Find(name)
		for _, file := range files {
			all := lines(read(t, file))
			for i, line := range all {
				for _, cut := range []string{"", line[:len(line)/2]} {
					stdout := strings.Join(append(all[:i:i], cut), "\n")
					checkOutcome(t, h, Request{}, stdout, Exit{})
					s := h.Stream(Request{})
					for _, line := range lines(stdout) {
						s.Line([]byte(line))
					}
					if h.Documented {
						continue // they have no event that ends the stream
					}
					if s.Done() != s.End(Exit{}).Complete {
						t.Errorf("%s: complete without its end, cut in line %d", file, i+1)
					}
				}
			}
		}
	}
}

func fuzzReader(f *testing.F, name string) {
	h := Find(name)
	files, err := filepath.Glob("testdata/" + name + "/*.stdout")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "", 0, false)
		f.Add(string(data), "Error: x", 1, true)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int, judge bool) {
		r := Request{Judge: judge, Session: "s", Counted: Usage{Input: 5, Output: 1}}
		checkOutcome(t, h, r, stdout, Exit{Code: code, Stderr: stderr})
		checkOutcome(t, h, r, stdout, Exit{Code: code, Stderr: stderr, Stopped: true})
	})
}

func FuzzCodex(f *testing.F)    { fuzzReader(f, "codex") }
func FuzzGemini(f *testing.F)   { fuzzReader(f, "gemini") }
func FuzzKimi(f *testing.F)     { fuzzReader(f, "kimi") }
func FuzzOpencode(f *testing.F) { fuzzReader(f, "opencode") }
