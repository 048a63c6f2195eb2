package fsm

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm/value"
	"loops/internal/testenv"
)

// sameJSON compares a value with an expectation that was JSON: what is written must read back as it.
func sameJSON(t *testing.T, got, want any) bool {
	t.Helper()
	back, err := value.ParseJSON(value.AppendJSON(nil, got))
	if err != nil {
		t.Fatal(err)
	}
	return similar(back, want)
}

// similar is Equal where "<any>" in a string of want stands for any text. Keys must be in the same order.
func similar(got, want any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		head, tail, open := strings.Cut(w, "<any>")
		return ok && (g == w || open && len(g) >= len(head)+len(tail) && strings.HasPrefix(g, head) &&
			strings.HasSuffix(g, tail))
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !similar(g[i], w[i]) {
				return false
			}
		}
		return true
	case *value.Map:
		g, ok := got.(*value.Map)
		if !ok || g.Len() != w.Len() {
			return false
		}
		for i, k := range w.Keys() {
			if g.Keys()[i] != k || !similar(g.Value(k), w.Value(k)) {
				return false
			}
		}
		return true
	}
	return value.Equal(got, want)
}

// dirFiles is a directory as evaluators see it.
type dirFiles string

func (d dirFiles) ReadFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), name))
}

func (d dirFiles) WriteFile(name string, data []byte) error {
	name = filepath.Join(string(d), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

func (d dirFiles) Write(name string, content func(io.Writer) error) error {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return err
	}
	return d.WriteFile(name, b.Bytes())
}

func (d dirFiles) Glob(context.Context, string, string) ([]string, error) { return nil, nil }

func (d dirFiles) Stat(name string) (time.Time, int64, error) {
	info, err := os.Stat(filepath.Join(string(d), name))
	if err != nil {
		return time.Time{}, 0, err
	}
	return info.ModTime(), info.Size(), nil
}

// vectorEvaluate builds an evaluate block as the loader would.
func vectorEvaluate(t *testing.T, config *value.Map) *Evaluate {
	t.Helper()
	cfg := DefaultEvaluate(testenv.At[string](config, "type"))
	for _, k := range config.Keys() {
		v := config.Value(k)
		switch k {
		case "type":
		case "operator":
			cfg.Operator = v.(string)
		case "target":
			cfg.Target, cfg.HasTarget = v, true
		case "tolerance":
			cfg.Tolerance = v
		case "pattern":
			cfg.Pattern = v.(string)
		case "negate":
			cfg.Negate = v.(bool)
		case "error_patterns":
			cfg.ErrorPatterns = texts(v)
		case "path":
			cfg.Path = v.(string)
		case "previous":
			cfg.Previous, cfg.HasPrevious = v.(string), true
		case "direction":
			cfg.Direction = v.(string)
		case "key":
			cfg.Key = v.(string)
		case "line":
			cfg.Line = v
		case "history_file":
			cfg.HistoryFile = v.(string)
		case "max_stall":
			cfg.MaxStall = int(v.(int64))
		case "epsilon":
			n, _ := value.NumberOf(v)
			cfg.Epsilon = n.Float()
		case "track":
			cfg.Track = texts(v)
		case "max_repeat":
			cfg.MaxRepeat = int(v.(int64))
		case "baseline_path":
			cfg.BaselinePath = v.(string)
		case "pairs":
			cfg.Pairs = v.([]any)
		default:
			t.Fatalf("the test does not know the key %s", k)
		}
	}
	return &cfg
}

func texts(v any) []string {
	var l []string
	for _, e := range v.([]any) {
		l = append(l, e.(string))
	}
	return l
}

func TestEvaluatorVectors(t *testing.T) {
	t.Parallel()
	base, cases := testenv.Vectors(t, "testdata/vectors/evaluators.jsonl")
	for _, c := range cases {
		t.Run(testenv.At[string](c, "id"), func(t *testing.T) {
			dir := dirFiles(t.TempDir())
			files := testenv.At[*value.Map](base, "files")
			for _, name := range files.Keys() {
				if err := dir.WriteFile(name, []byte(testenv.At[string](files, name))); err != nil {
					t.Fatal(err)
				}
			}
			cfg := vectorEvaluate(t, testenv.At[*value.Map](c, "config"))
			ev := Evidence{
				Output: testenv.At[string](c, "output"), ExitCode: int(testenv.At[int64](c, "exit_code")),
				Acted: true, Files: dir,
				Diff: func() (Result, error) {
					return Result{ExitCode: 129, Stderr: "fatal: not a git repository"}, nil
				},
			}
			calls := []*value.Map{c}
			if seq := testenv.At[[]any](c, "sequence"); seq != nil {
				calls = nil
				for _, s := range seq {
					calls = append(calls, s.(*value.Map))
				}
			}
			for i, call := range calls {
				ev.Scope = testenv.ScopeOf(testenv.At[*value.Map](base, "ctx"), testenv.At[*value.Map](call, "ctx"))
				v, memory, err := Judge(cfg, ev)
				ev.Memory = memory
				if testenv.At[bool](call, "raises") {
					if err == nil {
						t.Errorf("call %d: got verdict %q %s, want an exception", i, v.Name, value.Repr(v.Details))
					}
					continue
				}
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					continue
				}
				if want := testenv.At[string](call, "verdict"); v.Name != want {
					t.Errorf("call %d: verdict %q, want %q", i, v.Name, want)
				}
				if want := testenv.At[*value.Map](call, "details"); !sameJSON(t, v.Details, want) {
					t.Errorf("call %d: details\n%s, want\n%s", i, value.AppendJSON(nil, v.Details),
						value.AppendJSON(nil, want))
				}
			}
		})
	}
}

func TestSignalVectors(t *testing.T) {
	t.Parallel()
	_, cases := testenv.Vectors(t, "testdata/vectors/signals.jsonl")
	for _, c := range cases {
		output := testenv.At[string](c, "output")
		want := testenv.At[*value.Map](c, "signal")
		check := func(how string, s *SignalScanner) {
			kind, payload, found := s.Signal()
			if found != (want != nil) || kind != testenv.At[string](want, "type") ||
				payload != testenv.At[string](want, "payload") {
				t.Errorf("%s %s: %q gave %q %q %v, want %s", testenv.At[string](c, "id"), how, output, kind, payload,
					found, value.Repr(want))
			}
		}
		var whole, single SignalScanner
		whole.Write(output)
		check("whole", &whole)
		for i := range len(output) {
			single.Write(output[i : i+1])
		}
		check("byte by byte", &single)
		for i := range len(output) {
			var s SignalScanner
			s.Write(output[:i])
			s.Signal() // asking changes nothing
			s.Write(output[i:])
			check("cut", &s)
		}
		var lines SignalScanner // as a runner hands them over
		for l := range strings.SplitSeq(output, "\n") {
			lines.Write(l)
			lines.Write("\n")
		}
		check("by lines", &lines)
	}
}

func TestFailureVectors(t *testing.T) {
	t.Parallel()
	_, cases := testenv.Vectors(t, "testdata/vectors/failure.jsonl")
	for _, c := range cases {
		class, kind := FailureClass(testenv.At[string](c, "text"), int(testenv.At[int64](c, "exit_code")),
			testenv.At[bool](c, "result_seen"))
		if class != testenv.At[string](c, "class") || kind != testenv.At[string](c, "kind") {
			t.Errorf("%s: %s %s, want %s", testenv.At[string](c, "id"), class, kind, value.AppendJSON(nil, c))
		}
	}
}

func TestStallVectors(t *testing.T) {
	t.Parallel()
	_, cases := testenv.Vectors(t, "testdata/vectors/stall.jsonl")
	for _, c := range cases {
		t.Run(testenv.At[string](c, "id"), func(t *testing.T) {
			cfg := &Stall{
				Window:          int(testenv.At[int64](c, "window")),
				RecurrentWindow: int(testenv.At[int64](c, "recurrent_window")), OnRepeated: "abort",
			}
			if testenv.At[string](c, "mode") == "route" {
				cfg.OnRepeated = "recover"
			}
			var m Snapshot
			for i, want := range testenv.At[[]any](c, "fires") {
				r := testenv.At[[]any](c, "records")[i].([]any)
				print := ""
				if len(r) > 3 {
					print = value.Repr(r[3])
				}
				rec := StallRecord{State: r[0].(string), ExitCode: int(r[1].(int64)), Verdict: r[2].(string)}
				fire, fired := m.recordStall(cfg, rec, print)
				var got any
				if fired {
					got = value.NewMap(fire.Kind, int64(fire.Count))
				}
				if !value.Equal(got, want) {
					t.Errorf("record %d: %s, want %s", i, value.Repr(got), value.Repr(want))
				}
			}
		})
	}
}
