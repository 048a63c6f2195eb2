package loopfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// TestHostileFiles lays files that are made to be trouble beside a loop, and looks for what is said of them and where.
// The bound on time is generous; without the limits of this package some of these would not end today.
func TestHostileFiles(t *testing.T) {
	if testenv.Raced {
		return // it is about size, and has one goroutine
	}
	// Not parallel: the test changes the working directory.
	const head = "name: n\ndescription: d\ninitial: s0\n"
	const tail = "states:\n  s0: {fragment: f, next: done}\n  done: {terminal: true}\n"
	big := strings.Repeat("x", 11<<20)
	var states, many, imports strings.Builder
	n := testenv.Some(3_000, 30_000)
	for i := range n {
		fmt.Fprintf(&states, "  s%d: {fragment: f, next: s%d}\n", i, i+1)
		fmt.Fprintf(&many, "  s%d: {loop: none%d, next: done}\n", i, i)
	}
	fmt.Fprintf(&states, "  s%d: {terminal: true}\n", n)
	many.WriteString("  done: {terminal: true}\n")
	importFiles := map[string]string{}
	for i := range MaxFiles {
		importFiles[fmt.Sprintf("l%d.yaml", i)] = "fragments: {f: {action: x}}\n"
		fmt.Fprintf(&imports, "  - l%d.yaml\n", i)
	}
	wide := "fragments:\n  f:\n    params:\n" + strings.Repeat("      k", 1)
	for i := range 2000 {
		wide += fmt.Sprintf("%d: 1\n      k", i)
	}
	wide += "z: 1\n    action_type: mcp_tool\n    action: a/b\n"
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	pipe := func(t *testing.T, dir string) {
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(pairs ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for i := 0; i < len(pairs); i += 2 {
				if err := os.Symlink(pairs[i+1], filepath.Join(dir, pairs[i])); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	forbid := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(path, 0o700) }) //nolint:errcheck // so that the folder can be removed
		}
	}
	refused := func(want string) string {
		if os.Getuid() == 0 {
			return "" // root may read everything
		}
		return want
	}
	tests := []struct {
		name  string
		files map[string]string // main.yaml among them
		setup func(t *testing.T, dir string)
		want  string // a problem: file:line rule and a part of its message; "" = the loop loads
	}{
		{
			"a pipe to import",
			map[string]string{"main.yaml": head + "import: [pipe.yaml]\n" + tail},
			pipe,
			"main.yaml:4 not-found pipe.yaml is not a regular file",
		},
		{
			"a pipe to inherit from",
			map[string]string{"main.yaml": head + "from: pipe\n"},
			pipe,
			"main.yaml:4 not-found pipe.yaml is not a regular file",
		},
		{
			"a pipe to run",
			map[string]string{"main.yaml": caller("pipe")},
			pipe,
			"main.yaml:5 unknown-loop pipe.yaml is not a regular file",
		},
		{
			"links in a circle",
			map[string]string{"main.yaml": head + "import: [a.yaml]\n" + tail},
			link("a.yaml", "b.yaml", "b.yaml", "a.yaml"),
			"main.yaml:4 not-found a.yaml cannot be read: too many levels of symbolic links",
		},
		{
			"a link to nothing",
			map[string]string{"main.yaml": head + "from: gone\n"},
			link("gone.yaml", "nowhere.yaml"), "main.yaml:4 not-found no loop called \"gone\"",
		},
		{
			"a link to the file itself",
			map[string]string{"main.yaml": head + "from: alias\n"},
			link("alias.yaml", "main.yaml"), "main.yaml:4 cycle main.yaml -> alias.yaml",
		},
		{
			"a link to a folder above",
			map[string]string{"main.yaml": head + "from: up/up/up/base\n", "base.yaml": tail},
			link("up", "."),
			"up/up/up/base.yaml:2 unknown-fragment",
		},
		{"a link to a file is one", map[string]string{
			"main.yaml": head + "import: [l.yaml]\n" + tail,
			"real.yaml": "fragments: {f: {action: x}}\n",
		}, link("l.yaml", "real.yaml"), ""},
		{
			"a file nobody may read",
			map[string]string{
				"main.yaml": head + "import: [l.yaml]\n" + tail,
				"l.yaml":    "fragments: {f: {action: x}}\n",
			},
			forbid("l.yaml"),
			refused("main.yaml:4 unreadable l.yaml cannot be read: permission denied"),
		},
		{
			"a folder nobody may enter",
			map[string]string{
				"main.yaml":  head + "import: [lib/l.yaml]\n" + tail,
				"lib/l.yaml": "fragments: {f: {action: x}}\n",
			},
			forbid("lib"),
			refused("main.yaml:4 unreadable permission denied"),
		},
		{
			"a loop in a folder nobody may enter",
			map[string]string{"main.yaml": caller("lib/l"), "lib/l.yaml": good},
			forbid("lib"), refused("main.yaml:5 unreadable permission denied"),
		},
		{"a large import", map[string]string{
			"main.yaml": head + "import: [big.yaml]\n" + tail,
			"big.yaml":  strings.Repeat("#", MaxSize+1),
		}, nil, "main.yaml:4 unreadable larger than 16 MiB"},
		{
			"imports that are large together",
			map[string]string{
				"main.yaml": head + "import: [b1.yaml, b2.yaml, b3.yaml]\n" + tail,
				"b1.yaml":   "#" + big, "b2.yaml": "#" + big, "b3.yaml": "#" + big,
			},
			nil,
			"main.yaml:4 too-large at most 256 files and 32 MiB",
		},
		{
			"too many imports", with(importFiles, "main.yaml", head+"import:\n"+imports.String()+tail), nil,
			"main.yaml:260 too-large at most 256 files",
		},
		{
			"one import too often",
			map[string]string{
				"main.yaml": head + "import: [" + strings.Repeat("l.yaml, ", n) + "]\n" + tail,
				"l.yaml":    "fragments: {f: {action: x}}\n",
			},
			nil, "",
		},
		{"a binary import", map[string]string{
			"main.yaml": head + "import: [b.yaml]\n" + tail,
			"b.yaml":    "\x7fELF\x02\x01\x01\x00\xff\xfe",
		}, nil, "b.yaml:1 encoding not UTF-8"},
		{"zeros", map[string]string{
			"main.yaml": head + "import: [b.yaml]\n" + tail,
			"b.yaml":    strings.Repeat("\x00", 1<<20),
		}, nil, "b.yaml:1 yaml control character"},
		{"an alias bomb to import", map[string]string{
			"main.yaml": head + "import: [b.yaml]\n" + tail,
			"b.yaml":    bomb,
		}, nil, "b.yaml:"},
		{
			"an alias bomb to inherit",
			map[string]string{"main.yaml": head + "from: b\n", "b.yaml": bomb},
			nil,
			"b.yaml:",
		},
		{
			"many states of a fragment",
			map[string]string{"main.yaml": head + "fragments: {f: {action: x}}\nstates:\n" + states.String()},
			nil, "",
		},
		{
			"many states of a wide fragment",
			map[string]string{"main.yaml": head + "import: [w.yaml]\nstates:\n" + states.String(), "w.yaml": wide},
			nil, " too-large more than 2000000 values",
		},
		{
			"many states of a long fragment",
			map[string]string{
				"main.yaml": head + "import: [w.yaml]\nstates:\n" + states.String(),
				"w.yaml":    "fragments: {f: {action: '" + big + "'}}\n",
			},
			nil, " too-large 64 MiB of text",
		},
		{
			"a long text by alias",
			map[string]string{"main.yaml": head + "context: {a: &a '" + big + "', b: [" + strings.Repeat("*a,", 10) +
				"]}\n" + tail},
			nil, "main.yaml:4 alias 64 MiB of text",
		},
		{
			"many loops that are not there",
			map[string]string{"main.yaml": head + "states:\n" + many.String()},
			nil,
			"main.yaml:5 unknown-loop none0",
		},
		{
			"many states, inherited and changed",
			map[string]string{
				"main.yaml": "from: base\nstates:\n" +
					strings.ReplaceAll(states.String(), "fragment: f", "timeout: 5"),
				"base.yaml": head + "states:\n" + strings.ReplaceAll(states.String(), "fragment: f", "capture: c"),
			},
			nil, "",
		},
		{"a long flow", map[string]string{"main.yaml": "name: n\ndescription: d\ninitial: s0\nflow:\n" +
			lines("  - s%d\n", n)}, nil, ""},
		{
			"a flow of one step",
			map[string]string{"main.yaml": "name: n\ndescription: d\ninitial: s0\nflow: [" +
				strings.Repeat("s0, ", n) + "]\n"},
			nil, "main.yaml:4 ignored is in flow already",
		},
		{
			"long names",
			map[string]string{"main.yaml": head + "from: " + strings.Repeat("x/", 100_000) + "y\n"},
			nil,
			"main.yaml:4 not-found",
		},
		{
			"a name of dots",
			map[string]string{"main.yaml": head + "from: " + strings.Repeat("../", 10_000) + "etc/passwd\n"},
			nil,
			"main.yaml:4 not-found",
		},
		{
			"values without end",
			map[string]string{"main.yaml": head + "context: {a: [" + strings.Repeat("1,", 4<<20) + "]}\n" + tail},
			nil, "main.yaml:1 too-large 2000000 values",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			if tt.setup != nil {
				tt.setup(t, dir)
			}
			t.Chdir(dir)
			l := &Loader{Loops: "."}
			loop, problems, err := l.Load("main.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && loop == nil || tt.want != "" && !said(problems, tt.want) {
				t.Errorf("wanted %q, found %d problems such as %+v", tt.want, len(problems),
					problems[:min(2, len(problems))])
			}
			if loop == nil && len(problems) == 0 {
				t.Error("neither a loop nor a problem")
			}
			if text, _, err := l.Effective("main.yaml", true); err == nil && len(text) > maxShown {
				t.Errorf("%d bytes are shown", len(text))
			}
		})
	}
}

// said reports whether one of the problems is of a kind: its place, its rule and a part of its message.
func said(problems []fsm.Problem, want string) bool {
	place, rest, _ := strings.Cut(want, " ")
	rule, text, _ := strings.Cut(rest, " ")
	for _, p := range problems {
		if strings.HasPrefix(p.Pos.String(), place) && strings.Contains(p.Message, text) &&
			(rule == "" || p.Rule == rule) {
			return true
		}
	}
	return false
}

func with(files map[string]string, name, text string) map[string]string {
	out := map[string]string{name: text}
	for n, t := range files {
		out[n] = t
	}
	return out
}

func lines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// FuzzLoad builds loops from three files: one inherits from another and imports the third, if they say so.
func FuzzLoad(f *testing.F) {
	entries, err := os.ReadDir("testdata/problems")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := "testdata/problems/" + e.Name()
		base, lib := fileText(dir+"/base.yaml"), fileText(dir+"/lib/gates.yaml")
		f.Add(fileText(dir+"/main.yaml"), base, lib)
	}
	f.Add([]byte("from: base\nimport: [lib/gates.yaml]\nflow: [a, 'b?c:a', c]\n"+
		"state_defs: {a: {fragment: gate, with: {n: 1}}}\n"),
		[]byte("name: n\ndescription: d\ninitial: a\n"),
		[]byte("fragments: {gate: {parameters: {n: {type: integer}}, loop: '${param.n}'}}\n"))
	f.Fuzz(func(t *testing.T, main, base, lib []byte) {
		dir := tree(t, map[string]string{
			"main.yaml": string(main), "base.yaml": string(base),
			"lib/gates.yaml": string(lib),
		})
		l := &Loader{Loops: dir}
		path := filepath.Join(dir, "main.yaml")
		loop, problems, err := l.Load(path)
		if err != nil || loop == nil && len(problems) == 0 {
			t.Fatal(err, problems)
		}
		for _, p := range problems {
			if !strings.HasPrefix(p.Pos.File, dir) || p.Pos.Line < 1 || p.Pos.Col < 1 {
				t.Errorf("%+v", p)
			}
			if n := len(splitLines(fileText(p.Pos.File))); p.Pos.Line > n+1 {
				t.Errorf("line %d of %d: %+v", p.Pos.Line, n, p)
			}
		}
		Render(problems, fileText, true)
		text, _, err := l.Effective(path, true)
		if err != nil || loop == nil {
			return
		}
		for name, s := range loop.States {
			for _, key := range []string{"action", "next", "with", "fragment", "on_yes"} {
				if p := loop.Place(len(s.Action)/2, "states", name, key); p.Line < 1 {
					t.Errorf("%s.%s stands at %v", name, key, p)
				}
			}
		}
		again, problems := Parse("shown.yaml", text, nil)
		if again == nil {
			t.Fatalf("what is shown does not load: %+v\n%s", problems, text)
		}
		if got, want := fmt.Sprintf("%+v", again.Order), fmt.Sprintf("%+v", loop.Order); got != want {
			t.Errorf("shown: states %s, want %s", got, want)
		}
		for name, s := range loop.States {
			a := again.States[name]
			if a.Action != s.Action || a.Next != s.Next || a.Loop != s.Loop ||
				value.Repr(a.With) != value.Repr(s.With) || fmt.Sprint(a.On) != fmt.Sprint(s.On) ||
				a.Capture != s.Capture {
				t.Errorf("state %q: shown %+v, want %+v", name, a, s)
			}
		}
		if value.Repr(again.Context) != value.Repr(loop.Context) {
			t.Errorf("context: shown %s, want %s", value.Repr(again.Context), value.Repr(loop.Context))
		}
	})
}
