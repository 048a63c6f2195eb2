package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// TestStreams reads the recorded streams of every host with a folder in testdata. A case is NAME.stdout, beside it
// NAME.stderr and NAME.exit (the exit code or "signal N") where they are not empty and 0, NAME.request (a Request in
// JSON) where the request matters, and NAME.golden with what came out.
func TestStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.stdout")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded streams", err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".stdout")
		name := filepath.Base(filepath.Dir(file))
		t.Run(name+"/"+filepath.Base(base), func(t *testing.T) {
			h := testHost(t, name, base)
			testenv.Golden(t, base+".golden", replay(t, h, base))
		})
	}
}

// testHost finds the host of a folder; in the folder command, each case has its own in NAME.spec.
func testHost(t *testing.T, name, base string) *CLI {
	t.Helper()
	h := Find(name)
	if text := read(t, base+".spec"); text != "" {
		var s Spec
		decode(t, text, &s)
		var err error
		if h, err = New(s); err != nil {
			t.Fatal(err)
		}
	}
	if h == nil {
		t.Fatalf("no host %s", name)
	}
	return h
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func replay(t *testing.T, h *CLI, base string) string {
	t.Helper()
	var r Request
	if text := read(t, base+".request"); text != "" {
		decode(t, text, &r)
	}
	s := h.Stream(r)
	var out strings.Builder
	var unknown []string
	after := -1
	for i, line := range lines(read(t, base+".stdout")) {
		text, known := s.Line([]byte(line))
		out.WriteString(text)
		if !known {
			unknown = append(unknown, strconv.Itoa(i+1))
		}
		if s.Done() && after < 0 {
			after = i + 1
		}
	}
	return show(out.String(), unknown, after, s.End(exit(t, base)))
}

func exit(t *testing.T, base string) Exit {
	t.Helper()
	x := Exit{Stderr: read(t, base+".stderr")}
	text := strings.TrimSpace(read(t, base+".exit"))
	if n, ok := strings.CutPrefix(text, "signal "); ok {
		x.Code, _ = strconv.Atoi(n)
		x.Code = -x.Code
	} else if text != "" {
		var err error
		if x.Code, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// lines splits as the runner does: without line ends, and without an empty last line.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func show(text string, unknown []string, done int, o Outcome) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("output", "%.2000q", text)
	if unknown != nil {
		line("unknown", "lines %s", strings.Join(unknown, ", "))
	}
	line("done", "%d", done)
	line("complete", "%t", o.Complete)
	line("text", "%.2000q", o.Text)
	if o.Answer != nil {
		line("answer", "%s", o.Answer)
	}
	line("model", "%q", o.Model)
	line("session", "%q", o.Session)
	line("usage", "%+v %s", o.Usage, o.Coverage)
	if o.Whole != o.Usage {
		line("whole", "%+v", o.Whole)
	}
	if o.Cost != nil {
		line("cost", "%.7f", *o.Cost)
	}
	if o.Denied != nil {
		line("denied", "%q", o.Denied)
	}
	if f := o.Failure; f != nil {
		line("failure", "%s, status %d: %s", f.Class, f.Status, f.Reason)
		if !f.ResetAt.IsZero() || f.After != 0 {
			line("reset", "%s %s", f.ResetAt.Format(time.RFC3339), f.After)
		}
	}
	return b.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
