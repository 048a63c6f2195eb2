package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/simulate"
	"loops/internal/testenv"
)

// TestSimulate walks the loops of testdata/*.txtar: main.yaml, with the sub-loops beside it. Files whose names
// begin with "script" are scripts; "want" has the walks with each scenario, two seeds and each script.
func TestSimulate(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			want := -1
			var scripts []txtar.File
			for i, f := range archive.Files {
				switch {
				case f.Name == "want":
					want = i
				case strings.HasPrefix(f.Name, "script"):
					scripts = append(scripts, f)
				default:
					if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			loop, lib := load(t, dir)
			var out strings.Builder
			for _, s := range simulate.Scenarios() {
				replies, _ := simulate.Scenario(s)
				out.WriteString(walk(t, s, loop, lib, replies))
			}
			for _, seed := range []uint64{1, 2} {
				once := walk(t, fmt.Sprint("seed ", seed), loop, lib, simulate.Random(seed))
				if again := walk(t, fmt.Sprint("seed ", seed), loop, lib, simulate.Random(seed)); again != once {
					t.Errorf("the same seed gave another walk:\n%s\n%s", once, again)
				}
				out.WriteString(once)
			}
			for _, s := range scripts {
				script, wrong := simulate.ParseScript(string(s.Data), simulate.Reachable(loop, lib))
				for _, w := range wrong {
					fmt.Fprintf(&out, "%s: %v\n", s.Name, w)
				}
				if len(wrong) == 0 {
					out.WriteString(walk(t, s.Name, loop, lib, script.Replies()))
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range left {
				if !slices.ContainsFunc(archive.Files, func(a txtar.File) bool { return a.Name == f.Name() }) {
					t.Errorf("the simulation has made %s", f.Name())
				}
			}
			if testenv.Update() {
				if want < 0 {
					archive.Files, want = append(archive.Files, txtar.File{Name: "want"}), len(archive.Files)
				}
				archive.Files[want].Data = []byte(out.String())
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want < 0 || string(archive.Files[want].Data) != out.String() {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}

// files are loops by name, in one folder.
type files struct{ dir string }

func (f files) Loop(name string, _ *fsm.Loop) (*fsm.Loop, error) {
	path := filepath.Join(f.dir, name+".yaml")
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no loop %q", name)
	}
	l, problems, err := (&loopfile.Loader{Loops: f.dir}).Load(path)
	if l == nil {
		return nil, fmt.Errorf("%v %w", problems, err)
	}
	return l, nil
}

func load(t *testing.T, dir string) (*fsm.Loop, fsm.Library) {
	t.Helper()
	l, err := files{dir}.Loop("main", nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, files{dir}
}

// noFiles is a project in which nothing may be written.
type noFiles struct {
	fsm.Files
	t *testing.T
}

func (n noFiles) ReadFile(name string) ([]byte, error) { return nil, os.ErrNotExist }

func (n noFiles) Stat(string) (time.Time, int64, error) { return time.Time{}, 0, os.ErrNotExist }

func (n noFiles) WriteFile(name string, _ []byte) error {
	n.t.Errorf("%s was written", name)
	return nil
}

// walk returns one walk: a line for each route, and how it ended.
func walk(t *testing.T, title string, l *fsm.Loop, lib fsm.Library, replies simulate.Replies) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", title)
	seq := uint64(0)
	outcome, err := simulate.Simulate(t.Context(), simulate.Simulation{
		Loop: l, Values: l.Context.Clone(), Library: lib, Files: noFiles{t: t}, Dir: "/nowhere", Replies: replies,
		Verify: true,
		Observe: func(e fsm.Event) {
			if seq++; e.Seq != seq {
				t.Errorf("event %d has the number %d", seq, e.Seq)
			}
			switch e.Kind {
			case "state_enter":
				fmt.Fprintf(&b, "\n%s  %v", strings.Repeat("  ", e.Depth), e.Get("state"))
			case "action_complete":
				if code := e.Get("exit_code"); code != int64(0) {
					fmt.Fprintf(&b, " exit %v", code)
				}
			case "evaluate":
				fmt.Fprintf(&b, " %v", e.Get("verdict"))
			}
		},
	})
	if outcome.TerminatedBy != "" {
		fmt.Fprintf(&b, "\n  = %s %s %s", outcome.TerminatedBy, outcome.FinalState, outcome.Error)
	}
	if err != nil {
		fmt.Fprintf(&b, "\n  ! %v", err)
	}
	return b.String() + "\n"
}

// TestScenario: the exit codes are those of little-loops.
func TestScenario(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"all-pass": {"0", "0", "0", "0"}, "all-fail": {"1", "1", "1", "1"}, "all-error": {"2", "2", "2", "2"},
		"first-fail": {"1", "0", "0", "0"}, "alternating": {"1", "0", "1", "0"},
	} {
		l := &fsm.Loop{
			Name: "x", Initial: "a", MaxSteps: 4, MaxEdgeRevisits: 9,
			States: map[string]*fsm.State{
				"a": {Name: "a", Action: "do", On: map[string]string{"yes": "a", "no": "a", "error": "a"}},
			},
		}
		replies, ok := simulate.Scenario(name)
		if !ok {
			t.Fatal(name)
		}
		var got []string
		_, err := simulate.Simulate(t.Context(),
			simulate.Simulation{Loop: l, Values: value.NewMap(), Replies: replies, Observe: func(e fsm.Event) {
				if e.Kind == "action_complete" {
					got = append(got, fmt.Sprint(e.Get("exit_code")))
					if out := e.Get("output_preview"); out != "[simulated output for: do]" {
						t.Errorf("output %v", out)
					}
				}
			}})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	if _, ok := simulate.Scenario("some-pass"); ok {
		t.Error("there is no such scenario")
	}
}

// TestEndless: sub-loops multiply their caps; a simulation ends all the same. So does one that is no longer wanted.
func TestEndless(t *testing.T) {
	t.Parallel()
	again := map[string]string{"yes": "a", "no": "a"}
	inner := &fsm.Loop{
		Name: "in", File: "in", Initial: "a", MaxSteps: 5000, MaxEdgeRevisits: 9999,
		States: map[string]*fsm.State{"a": {Name: "a", Action: "do", On: again}},
	}
	outer := &fsm.Loop{
		Name: "out", Initial: "a", MaxSteps: 5000, MaxEdgeRevisits: 9999,
		States: map[string]*fsm.State{"a": {Name: "a", Loop: "in", On: again}},
	}
	replies, _ := simulate.Scenario("all-pass")
	s := simulate.Simulation{Loop: outer, Values: value.NewMap(), Library: one{inner}, Replies: replies}
	if _, err := simulate.Simulate(t.Context(), s); !errors.Is(err, simulate.ErrEndless) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Values = value.NewMap()
	if _, err := simulate.Simulate(ctx, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type one struct{ l *fsm.Loop }

func (o one) Loop(string, *fsm.Loop) (*fsm.Loop, error) { return o.l, nil }

// TestTally counts ends, the most frequent one first.
func TestTally(t *testing.T) {
	t.Parallel()
	var tally simulate.Tally
	for i, end := range []string{"a", "b", "b"} {
		tally.Add(uint64(i), fsm.Outcome{TerminatedBy: "terminal", FinalState: end, Steps: 3 - i})
	}
	ends := tally.Endings()
	if len(ends) != 2 || ends[0].Outcome.FinalState != "b" || ends[0].Runs != 2 || ends[0].Seed != 1 ||
		tally.Least != 1 || tally.Most != 3 || tally.Steps != 6 {
		t.Errorf("%+v %+v", tally, ends)
	}
}

// TestRender leaves what only a run knows unchanged.
func TestRender(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{Name: "l"}
	values := value.NewMap("a", "1", "empty", nil)
	for text, want := range map[string]string{
		"plain":                          "plain",
		"${context.a} $${context.a} ${}": "1 ${context.a} ${}",
		"${context.b} ${context.b}":      "${context.b} ${context.b} | ${context.b}: Path 'b' not found in context",
		"${captured.x.output:lines:shell} x": "${captured.x.output:lines:shell} x | " +
			"${captured.x.output:lines:shell}: only a run knows it",
		"${captured.x.output:default=none}": "none",
		"${prev.output?}${context.empty}":   "",
		"${loop.elapsed} ${loop.name}":      "${loop.elapsed} l | ${loop.elapsed}: only a run knows it",
		"${state.name} ${state.iteration}":  "s 1",
		"${env.HOME} ${nowhere.x}": "/home ${nowhere.x} | ${nowhere.x}: ${nowhere.x} is not a template; " +
			"for bash write $${nowhere.x}",
	} {
		got, err := simulate.Render(t.Context(), l, &fsm.State{Name: "s", Action: text}, values,
			func(name string) (string, bool) { return "/home", name == "HOME" }, nil)
		if err != nil {
			t.Fatal(err)
		}
		line := got.Action
		for _, u := range got.Unknown {
			line += " | " + u.Ref + ": " + u.Why
		}
		if line != want {
			t.Errorf("%s: got %q, want %q", text, line, want)
		}
	}
	st := &fsm.State{Name: "s", Action: "${param.who} ${param.n}", Fragment: &fsm.Fragment{
		Name: "f", Bindings: value.NewMap("who", "${context.a}", "n", "${captured.x.output}"),
		Parameters: []fsm.Parameter{{Name: "who", Type: "string"}, {Name: "n", Type: "string"}},
	}}
	got, err := simulate.Render(t.Context(), l, st, values, nil, nil)
	if err != nil || got.Action != "1 ${captured.x.output}" || len(got.Unknown) != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
