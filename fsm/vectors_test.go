package fsm

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// vectors reads a file of testdata/vectors: its base record (nil if it has none) and its cases.
func vectors(t testing.TB, name string) (base *Map, cases []*Map) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		v, err := ParseJSON(lines.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := v.(*Map)
		if _, ok := m.Get("_meta"); ok {
			base = m
		} else {
			cases = append(cases, m)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return base, cases
}

func at[T any](m *Map, key string) T {
	v, _ := m.Get(key)
	x, _ := v.(T)
	return x
}

// vectorScope builds a scope from the base context and the keys a case replaces.
func vectorScope(base, replaced *Map) *Scope {
	ctx := base.Clone()
	for _, k := range replaced.Keys() {
		v, _ := replaced.Get(k)
		ctx.Set(k, v)
	}
	s := &Scope{
		Context: at[*Map](ctx, "context"), Captured: at[*Map](ctx, "captured"), Param: at[*Map](ctx, "param"),
		Prev: at[*Map](ctx, "prev"), Result: at[*Map](ctx, "result"),
		State: at[string](ctx, "state_name"), Step: int(at[int64](ctx, "iteration")), Loop: at[string](ctx, "loop_name"),
		StartedAt: at[string](ctx, "started_at"), ElapsedMS: at[int64](ctx, "elapsed_ms"),
	}
	for _, m := range at[[]any](ctx, "messages") {
		s.Messages = append(s.Messages, m.(string))
	}
	return s
}

// sameJSON compares a value with an expectation that was JSON: what is written must read back as it.
func sameJSON(t *testing.T, got, want any) bool {
	t.Helper()
	back, err := ParseJSON(AppendJSON(nil, got))
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
		return ok && (g == w || open && len(g) >= len(head)+len(tail) && strings.HasPrefix(g, head) && strings.HasSuffix(g, tail))
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
	case *Map:
		g, ok := got.(*Map)
		if !ok || g.Len() != w.Len() {
			return false
		}
		for i, k := range w.Keys() {
			if g.Keys()[i] != k || !similar(g.val(k), w.val(k)) {
				return false
			}
		}
		return true
	}
	return Equal(got, want)
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

func (d dirFiles) Stat(name string) (time.Time, int64, error) {
	info, err := os.Stat(filepath.Join(string(d), name))
	if err != nil {
		return time.Time{}, 0, err
	}
	return info.ModTime(), info.Size(), nil
}

// vectorEvaluate builds an evaluate block as the loader would.
func vectorEvaluate(t *testing.T, config *Map) *Evaluate {
	t.Helper()
	cfg := DefaultEvaluate(at[string](config, "type"))
	for _, k := range config.Keys() {
		v := config.val(k)
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
			n, _ := toNumber(v)
			cfg.Epsilon = n.toFloat()
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
	base, cases := vectors(t, "evaluators.jsonl")
	for _, c := range cases {
		t.Run(at[string](c, "id"), func(t *testing.T) {
			dir := dirFiles(t.TempDir())
			files := at[*Map](base, "files")
			for _, name := range files.Keys() {
				if err := dir.WriteFile(name, []byte(at[string](files, name))); err != nil {
					t.Fatal(err)
				}
			}
			cfg := vectorEvaluate(t, at[*Map](c, "config"))
			ev := Evidence{
				Output: at[string](c, "output"), ExitCode: int(at[int64](c, "exit_code")), Acted: true, Files: dir,
				Diff: func() (Result, error) {
					return Result{ExitCode: 129, Stderr: "fatal: not a git repository"}, nil
				},
			}
			calls := []*Map{c}
			if seq := at[[]any](c, "sequence"); seq != nil {
				calls = nil
				for _, s := range seq {
					calls = append(calls, s.(*Map))
				}
			}
			for i, call := range calls {
				ev.Scope = vectorScope(at[*Map](base, "ctx"), at[*Map](call, "ctx"))
				v, memory, err := Judge(cfg, ev)
				ev.Memory = memory
				if at[bool](call, "raises") {
					if err == nil {
						t.Errorf("call %d: got verdict %q %s, want an exception", i, v.Name, Repr(v.Details))
					}
					continue
				}
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					continue
				}
				if want := at[string](call, "verdict"); v.Name != want {
					t.Errorf("call %d: verdict %q, want %q", i, v.Name, want)
				}
				if want := at[*Map](call, "details"); !sameJSON(t, v.Details, want) {
					t.Errorf("call %d: details\n%s, want\n%s", i, AppendJSON(nil, v.Details), AppendJSON(nil, want))
				}
			}
		})
	}
}

func TestInterpolationVectors(t *testing.T) { testTemplates(t, "interpolation.jsonl") }

func TestFilterVectors(t *testing.T) { testTemplates(t, "filters.jsonl") }

func testTemplates(t *testing.T, name string) {
	base, cases := vectors(t, name)
	env := at[*Map](base, "env")
	for _, c := range cases {
		t.Run(at[string](c, "id"), func(t *testing.T) {
			s := vectorScope(at[*Map](base, "ctx"), at[*Map](c, "ctx"))
			s.Getenv = func(name string) (string, bool) {
				v, ok := env.Get(name)
				text, _ := v.(string)
				return text, ok
			}
			template := at[string](c, "template")
			got, err := Expand(template, s)
			switch {
			case at[bool](c, "raises"):
				if err == nil {
					t.Errorf("%q gave %q, want an error", template, got)
				}
			case err != nil:
				t.Errorf("%q: %v", template, err)
			case got != at[string](c, "result"):
				t.Errorf("%q gave %q, want %q", template, got, at[string](c, "result"))
			}
		})
	}
}

func TestDurationVectors(t *testing.T) {
	_, cases := vectors(t, "duration.jsonl")
	for _, c := range cases {
		if got, want := ElapsedText(at[int64](c, "ms")), at[string](c, "text"); got != want {
			t.Errorf("%s: %q, want %q", at[string](c, "id"), got, want)
		}
	}
}

func TestSignalVectors(t *testing.T) {
	_, cases := vectors(t, "signals.jsonl")
	for _, c := range cases {
		output := at[string](c, "output")
		want := at[*Map](c, "signal")
		check := func(how string, s *SignalScanner) {
			kind, payload, found := s.Signal()
			if found != (want != nil) || kind != at[string](want, "type") || payload != at[string](want, "payload") {
				t.Errorf("%s %s: %q gave %q %q %v, want %s", at[string](c, "id"), how, output, kind, payload, found, Repr(want))
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
	_, cases := vectors(t, "failure.jsonl")
	for _, c := range cases {
		class, kind := FailureClass(at[string](c, "text"), int(at[int64](c, "exit_code")), at[bool](c, "result_seen"))
		if class != at[string](c, "class") || kind != at[string](c, "kind") {
			t.Errorf("%s: %s %s, want %s", at[string](c, "id"), class, kind, AppendJSON(nil, c))
		}
	}
}

func TestStallVectors(t *testing.T) {
	_, cases := vectors(t, "stall.jsonl")
	for _, c := range cases {
		t.Run(at[string](c, "id"), func(t *testing.T) {
			cfg := &Stall{
				Window: int(at[int64](c, "window")), RecurrentWindow: int(at[int64](c, "recurrent_window")), OnRepeated: "abort",
			}
			if at[string](c, "mode") == "route" {
				cfg.OnRepeated = "recover"
			}
			var m Snapshot
			for i, want := range at[[]any](c, "fires") {
				r := at[[]any](c, "records")[i].([]any)
				print := ""
				if len(r) > 3 {
					print = Repr(r[3])
				}
				rec := StallRecord{State: r[0].(string), ExitCode: int(r[1].(int64)), Verdict: r[2].(string)}
				fire, fired := m.recordStall(cfg, rec, print)
				var got any
				if fired {
					got = NewMap(fire.Kind, int64(fire.Count))
				}
				if !Equal(got, want) {
					t.Errorf("record %d: %s, want %s", i, Repr(got), Repr(want))
				}
			}
		})
	}
}
