package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// ours are the streams of the hosts that print events alike, and those of users' hosts.
func ours(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"claude", "qwen", "command"} {
		found, _ := filepath.Glob("testdata/" + folder + "/*.stdout")
		if len(found) == 0 {
			t.Fatal("no streams of", folder)
		}
		files = append(files, found...)
	}
	return files
}

// TestCutShort cuts every stream after each of its lines and in the middle of each: what lacks its end is no success.
func TestCutShort(t *testing.T) {
	t.Parallel()
	for _, file := range ours(t) {
		base := strings.TrimSuffix(file, ".stdout")
		h := testHost(t, filepath.Base(filepath.Dir(file)), base)
		all := lines(read(t, file))
		for i, line := range all {
			for _, cut := range []string{"", line[:len(line)/2]} {
				stdout := strings.Join(append(all[:i:i], cut), "\n")
				for _, judge := range []bool{false, true} {
					checkOutcome(t, h, Request{Judge: judge}, stdout, Exit{})
				}
				s := h.Stream(Request{})
				for _, line := range lines(stdout) {
					s.Line([]byte(line))
				}
				done := s.Done()
				if o := s.End(Exit{}); !done && o.Complete && Find(h.Name) != nil {
					t.Errorf("%s: complete without its end, cut in line %d", file, i+1)
				}
			}
		}
	}
}

// TestMemory hands over 100 MB of lines: what is kept of them is little.
func TestMemory(t *testing.T) {
	if testenv.Raced {
		return // it is about size, and has one goroutine
	}
	// Not parallel: the test measures the memory of the process.
	filler := strings.Repeat("0123456789abcdef", 1<<14)
	jsonl, err := New(Spec{
		Name: "jsonl", Program: "x", Format: FormatJSONL,
		Fields: Fields{Text: Field{Path: "message.content.*.text"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := New(Spec{Name: "text", Program: "x"})
	if err != nil {
		t.Fatal(err)
	}
	document, err := New(Spec{Name: "json", Program: "x", Format: FormatJSON, Fields: Fields{Text: Field{Path: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	message := `{"type":"assistant","message":{"id":"%d","content":[{"type":"text","text":"` + filler +
		`"}],"usage":{"input_tokens":1}}}`
	for _, c := range []struct {
		h     *CLI
		judge bool
		line  string
	}{
		{claude, false, message},
		{claude, false, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"%d","content":"` +
			filler + `"}]}}`},
		{claude, true, "prose %d " + filler},
		{qwen, false, `{"type":"unheard_of","id":"%d","x":"` + filler + `"}`},
		{jsonl, false, message},
		{text, false, "%d " + filler},
		{document, false, "{%d " + filler},
	} {
		s := c.h.Stream(Request{Judge: c.judge})
		before := heap()
		for i := range 32 << 20 / len(filler) {
			s.Line(fmt.Appendf(nil, c.line, i))
		}
		if kept := heap() - before; kept > 4<<20 {
			t.Errorf("%s keeps %d bytes of lines like %.60s", c.h.Name, kept, c.line)
		}
		s.End(Exit{})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func fuzzStream(f *testing.F, folder string, hosts func(t *testing.T) []*CLI) {
	for _, file := range ours(f) {
		if filepath.Base(filepath.Dir(file)) != folder {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "", 0, false)
		f.Add(string(data), "{\"error\":{\"message\":\"x\"}}", 1, true)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int, judge bool) {
		r := Request{Judge: judge, Schema: "{}", Session: "s", Counted: Usage{Input: 5, Output: 1}}
		for _, h := range hosts(t) {
			checkOutcome(t, h, r, stdout, Exit{Code: code, Stderr: stderr})
			checkOutcome(t, h, r, stdout, Exit{Code: code, Stderr: stderr, Stopped: true})
		}
	})
}

func FuzzClaude(f *testing.F) {
	fuzzStream(f, "claude", func(*testing.T) []*CLI { return []*CLI{claude} })
}

func FuzzQwen(f *testing.F) { fuzzStream(f, "qwen", func(*testing.T) []*CLI { return []*CLI{qwen} }) }

func FuzzCommand(f *testing.F) {
	fuzzStream(f, "command", func(t *testing.T) (all []*CLI) {
		for _, name := range []string{"text", "json", "jsonl", "each"} {
			all = append(all, testHost(t, "command", "testdata/command/"+name))
		}
		return all
	})
}
