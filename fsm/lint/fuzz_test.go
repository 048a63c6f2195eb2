package lint_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// FuzzCheck makes sure that no text makes Check panic, report without end, or say something else the second time.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _ := loopfile.Parse("f.yaml", data, nil)
		if l == nil {
			return
		}
		verify(t, l)
		l.Place = nil
		verify(t, l)
	})
}

// FuzzScript puts a text where templates and scripts stand.
func FuzzScript(f *testing.F) {
	for _, s := range []string{
		"echo ${context.input}", "cat <<'E'\n${captured.x.output}\nE", "$$x $$( $${y", "\"$(`${prev.output}`)\"",
		"case x in a) ;; esac", "<<A <<-'B'\n", "'${", "$((", "${a:-b}", "\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ev := fsm.DefaultEvaluate("convergence")
		ev.Source, ev.HasSource, ev.Previous, ev.Target, ev.Tolerance = s, true, s, s, s
		verify(t, &fsm.Loop{
			Name: s, Initial: "a", MaxSteps: 1, InputKey: s,
			Context: value.NewMap("policy_rules", s, "rubric_dimensions", s),
			Stall:   &fsm.Stall{ProgressPaths: []string{s}},
			States: map[string]*fsm.State{
				"a": {
					Name: "a", Action: s, Capture: "x", Evaluate: &ev, On: map[string]string{"yes": s, s: "b"},
					Append: s,
				},
				"b": {
					Name: "b", Action: s, Next: s,
					Fragment: &fsm.Fragment{Bindings: value.NewMap("x", []any{s, value.NewMap("y", s)})},
				},
				"c": {
					Name: "c", Loop: s, With: value.NewMap("x", s),
					Route: &fsm.Route{Table: value.NewMap("yes", s, "no", 3), Default: s},
				},
			},
		})
	})
}

// verify checks what holds for everything that is reported.
func verify(t *testing.T, l *fsm.Loop) {
	t.Helper()
	for name, check := range map[string]func(*fsm.Loop) []fsm.Problem{
		"Check":      lint.Check,
		"CheckTexts": lint.CheckTexts, "Optional": lint.Optional,
	} {
		got := check(l)
		if len(got) > 1002 {
			t.Fatalf("%s: %d problems", name, len(got))
		}
		for _, p := range got {
			r, ok := lint.Lookup(p.Rule)
			if !ok || p.Message == "" || len(p.Message) > 5000 || strings.ContainsAny(p.Message, "\n\x1b") {
				t.Errorf("%s: %+v", name, p)
			}
			if l.SuppressFlags[r.Flag] || r.Optional != (name == "Optional") && p.Rule != "too-many" {
				t.Errorf("%s should not report %+v", name, p)
			}
		}
		if !slices.IsSortedFunc(got, func(a, b fsm.Problem) int {
			return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
				cmp.Compare(a.Pos.Col, b.Pos.Col))
		}) {
			t.Errorf("%s: not sorted: %+v", name, got)
		}
		if again := check(l); !reflect.DeepEqual(got, again) {
			t.Errorf("%s says\n%+v\nand then\n%+v", name, got, again)
		}
	}
}

// TestIncomplete feeds loops that no loader would hand out.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	verify(t, &fsm.Loop{})
	verify(t, &fsm.Loop{
		Initial: "nowhere", Order: []string{"a", "a", "b"},
		States: map[string]*fsm.State{"a": {Name: "a"}, "z": {Name: "z", Next: "a"}, "n": nil},
	})
	verify(t, &fsm.Loop{
		Initial: "a", MaxSteps: -1,
		States: map[string]*fsm.State{"a": {Name: "a", Route: &fsm.Route{}, Evaluate: &fsm.Evaluate{Type: "?"}}},
	})
}

// TestPlaces makes sure that positions come from Place and fall back to those of states, evaluate and route.
func TestPlaces(t *testing.T) {
	t.Parallel()
	ev := fsm.DefaultEvaluate("classify")
	ev.Pos = fsm.Pos{File: "x.yaml", Line: 7, Col: 7}
	l := &fsm.Loop{
		File: "x.yaml", Initial: "a", States: map[string]*fsm.State{
			"a": {
				Name: "a", Pos: fsm.Pos{Line: 5, Col: 3}, Action: "echo ${x}", Evaluate: &ev,
				Route: &fsm.Route{Pos: fsm.Pos{File: "x.yaml", Line: 9, Col: 9}, Table: value.NewMap("b", "b")},
			},
			"b": {Name: "b", Terminal: true},
		},
	}
	places := func() (at []string) {
		for _, p := range lint.Check(l) {
			at = append(at, p.Pos.String()+" "+p.Path+" "+p.Rule)
		}
		return at
	}
	want := []string{"x.yaml:5:3 states.a.action no-namespace", "x.yaml:9:9 states.a.route classify-default"}
	if got := places(); !slices.Equal(got, want) {
		t.Errorf("without Place: %q, want %q", got, want)
	}
	l.Place = func(offset int, path ...string) fsm.Pos {
		return fsm.Pos{File: "y.yaml", Line: 100, Col: offset + len(strings.Join(path, "."))}
	}
	want = []string{"y.yaml:100:14 states.a.route classify-default", "y.yaml:100:20 states.a.action no-namespace"}
	if got := places(); !slices.Equal(got, want) {
		t.Errorf("with Place: %q, want %q", got, want)
	}
}

// TestTooMany makes sure that a report has an end, and says so.
func TestTooMany(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{Initial: "s0", States: map[string]*fsm.State{}}
	for i := range 600 {
		name := fmt.Sprintf("s%d", i)
		l.Order = append(l.Order, name)
		l.States[name] = &fsm.State{
			Name: name, Pos: fsm.Pos{Line: i + 1, Col: 1}, Next: fmt.Sprintf("s%d", i+1),
			Action: "echo $$x ${y}",
		}
	}
	l.States["s600"] = &fsm.State{Name: "s600", Terminal: true}
	got := lint.Check(l)
	count := map[string]int{}
	for _, p := range got {
		count[string(p.Severity)+" "+p.Rule]++
	}
	want := map[string]int{
		"error shell-pid": 500, "warning no-namespace": 500, "error too-many": 1,
		"warning too-many": 1,
	}
	if !reflect.DeepEqual(count, want) {
		t.Errorf("%v, want %v", count, want)
	}
	if last := got[len(got)-1]; last.Message != "100 more like these are not shown (warnings)" {
		t.Errorf("%+v", last)
	}
}

// TestLarge feeds loops of ten thousand states of the shapes that take quadratic time in a careless program. There is
// no clock: without its bounds some of these would not end within the time a test has.
func TestLarge(t *testing.T) {
	t.Parallel()
	n := testenv.Some(2_000, 10_000)
	shapes := map[string]func(r *rand.Rand, i int, s *fsm.State){
		"a chain, each with the capture before": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("c%d", i), fmt.Sprintf("echo ${captured.c%d.output:shell}", max(0, i-1))
			s.Next = fmt.Sprintf("s%d", i+1)
		},
		"a chain back to front": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("c%d", i), fmt.Sprintf("echo ${captured.c%d.output:shell}", min(n-1, i+1))
			s.Next = fmt.Sprintf("s%d", i+1)
		},
		"a thousand makers of each capture": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("c%d", i%10), fmt.Sprintf("echo ${captured.c%d.output:shell}", (i+5)%10)
			s.On = map[string]string{"yes": fmt.Sprintf("s%d", i+1), "no": fmt.Sprintf("s%d", i/2)}
		},
		"two makers of each capture": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("c%d", i%(n/2)),
				fmt.Sprintf("echo ${captured.c%d.output:shell}", (i*7)%(n/2))
			s.On = map[string]string{"yes": fmt.Sprintf("s%d", i+1), "no": fmt.Sprintf("s%d", i/2)}
		},
		"random ways": func(r *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("c%d", i), fmt.Sprintf("echo ${captured.c%d.output:shell}", r.IntN(n))
			s.On = map[string]string{
				"yes": fmt.Sprintf("s%d", r.IntN(n+1)), "no": fmt.Sprintf("s%d", r.IntN(n)),
				"error": fmt.Sprintf("s%d", i+1),
			}
		},
		"names that are nearly there": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Capture, s.Action = fmt.Sprintf("capture%d", i),
				fmt.Sprintf("echo ${captured.captrue%d.output:shell} ${context.contxt%d}", i, i)
			s.Next = fmt.Sprintf("s%d", i+1)
		},
		"everything to everything by one table": func(_ *rand.Rand, i int, s *fsm.State) {
			s.Action = "cat next"
			s.Route = &fsm.Route{Table: value.NewMap(), Default: "s0", Error: fmt.Sprintf("s%d", i+1)}
			for k := range 20 {
				s.Route.Table.Set(fmt.Sprintf("v%d", k), fmt.Sprintf("s%d", (i*k)%n))
			}
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			l := &fsm.Loop{Initial: "s0", MaxSteps: 50, States: map[string]*fsm.State{}, Context: value.NewMap()}
			r := rand.New(rand.NewPCG(1, 2))
			for i := range n {
				s := &fsm.State{Name: fmt.Sprintf("s%d", i), Pos: fsm.Pos{Line: i + 1, Col: 1}}
				shape(r, i, s)
				l.Order = append(l.Order, s.Name)
				l.States[s.Name] = s
				l.Context.Set(fmt.Sprintf("context%d", i), i)
			}
			end := fmt.Sprintf("s%d", n)
			l.Order = append(l.Order, end)
			l.States[end] = &fsm.State{Name: end, Terminal: true}
			verify(t, l)
		})
	}
	t.Run("long scripts", func(t *testing.T) {
		for _, s := range []string{
			"${context.input} ", "$${", "$$x ", "\"$(", "`", "<<E\n", "'", "${captured.a.b}",
			"case ", "${", "((", "\"${context.goal}\"", ".loops/tmp/", "json.loads(",
		} {
			verify(t, &fsm.Loop{Initial: "a", States: map[string]*fsm.State{
				"a": {Name: "a", Action: strings.Repeat(s, 20_000), On: map[string]string{"yes": "b"}},
				"b": {Name: "b", Terminal: true},
			}})
		}
	})
}
