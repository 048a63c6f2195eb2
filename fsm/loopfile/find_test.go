package loopfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = "name: n\ndescription: d\ninitial: s\nstates: {s: {terminal: true}}\n"

// tree writes files into a new directory and returns it.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".loops/build.yaml": good, ".loops/both.yaml": good, ".loops/both.fsm.yaml": good,
		".loops/team/deploy.yaml": good,
		".loops/old.yml":          good, ".loops/docs.yaml": good, "docs/index.md": "", "here.yaml": good,
		"sub/there.yml":        good,
		".loops/folder.yaml/x": "", "outside.yaml": good, "build": "not a loop",
	})
	tests := []struct{ name, want string }{
		{"build", ".loops/build.yaml"}, // not the file of that name in the working directory
		{"docs", ".loops/docs.yaml"},   // not the folder
		{"both", ".loops/both.fsm.yaml"},
		{"team/deploy", ".loops/team/deploy.yaml"},
		{"here.yaml", "here.yaml"},
		{"./here.yaml", "here.yaml"},
		{"sub/there.yml", "sub/there.yml"},
		{filepath.Join(dir, "here.yaml"), "here.yaml"},
		{".loops/build.yaml", ".loops/build.yaml"},
		{"../outside", ""},
		{"old", ""},
		{"folder", ""},
		{"docs/", ".loops/docs.yaml"},
		{"sub", ""},
		{"", ""},
		{"a\x00b", ""},
	}
	l := &Loader{Loops: filepath.Join(dir, ".loops")}
	for _, tt := range tests {
		got, err := l.Resolve(tt.name, dir)
		want := tt.want
		if want != "" {
			want = filepath.Join(dir, want)
		}
		var missing *NotFoundError
		if got != want || (want == "") != errors.As(err, &missing) || want == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Resolve(%q) = %q, %v; want %q", tt.name, got, err, want)
		}
	}
	for name, near := range map[string]string{
		"biuld": "build", "deploy": "team/deploy", "build.yaml": "build",
		"zzzzzz": "",
	} {
		_, err := l.Resolve(name, dir)
		var missing *NotFoundError
		if !errors.As(err, &missing) || strings.Join(missing.Near, ",") != near {
			t.Errorf("Resolve(%q): %v; want the suggestion %q", name, err, near)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"plain.yaml": "name: n\ndescription: What it does.\ninitial: s\ncategory: c\nlabels: [a, b]\n" +
			"visibility: example\nstates:\n  s: {terminal: true}\n",
		"block.yaml": "# a comment\nname: n\ndescription: |\n  First line.\n\n  name: not a key\ninitial: s\n" +
			"labels:\n- x\n- y\nstates:\n  s: {terminal: true}\n",
		"folded.fsm.yaml": "name: n\ndescription: >-\n  One\n  two.\ninitial: s\nstates:\n  s: {terminal: true}\n",
		"quoted.yaml":     "\"name\": n\n'description': \"Quoted: keys.\"\ninitial: s\nstates: {s: {terminal: true}}\n",
		"long.yaml":       "name: n\ndescription: \"goes\ninitial: on\"\ninitial: s\nstates: {s: {terminal: true}}\n",
		"json.yaml":       "{name: n, description: As JSON., initial: s, states: {s: {terminal: true}}}\n",
		"crlf.yaml":       "name: n\r\ndescription: With CRLF.\r\ninitial: s\r\nstates:\r\n  s: {terminal: true}\r\n",
		"sub/deep.yaml":   good,
		"child.yaml":      "name: n\nlabels: [z]\nfrom: plain\n",
		"grandchild.yaml": "description: 'Inherits.'\nfrom: child\n",
		"orphan.yaml":     "name: n\nfrom: nobody\n",
		"circle.yaml":     "from: circle2\n",
		"circle2.yaml":    "from: ./circle\n",
		"itself.yaml":     "from: itself\n",
		"heir.yaml":       "from: broken\n",
		"little.yaml":     "from: lib/part\ndescription: Still lacks something.\n",
		"lib/part.yaml":   "name: part\nstates: {s: {terminal: true}}\n",
		"flow.yaml":       "name: n\ndescription: Steps.\ninitial: a\nflow: [a, b]\n",
		"nothing.yaml":    "name: n\ninitial: s\n",
		"broken.yaml":     "name: n\nstates:\n\ts: 1\n",
		"twice.yaml":      good + "name: m\n",
		"list.yaml":       "- a\n",
		"bytes.yaml":      "name: \xff\n",
		"fragments.yaml":  "description: A library.\nfragments:\n  f: {action: x}\n",
		"values.yaml":     "colour: red\n",
		"notes.txt":       good, "other.yml": good, ".hidden.yaml": good, ".running/a.yaml": good,
		".history/b/c.yaml": good,
		".queue/q.yaml":     good, "runs/r.yaml": good, "tmp/t.yaml": good, "lib/l.yaml": good,
		"baselines/b.yaml":  good,
		"sub/lib/kept.yaml": good, "sub/.x/y.yaml": good,
	}
	dir := tree(t, files)
	entries, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		rel, _ := filepath.Rel(dir, e.Path)
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s", e.Name, rel, e.Title, e.Category,
			strings.Join(e.Labels, ","), e.Visibility, e.Problem))
	}
	want := []string{
		"block|block.yaml|First line.||x,y|public|",
		`broken|broken.yaml|||||3:1: a tab indents this line; YAML wants spaces (YAML: found character that cannot start any token)`,
		`bytes|bytes.yaml|||||1:7: this is not UTF-8; save the file as UTF-8 text`,
		"child|child.yaml|What it does.|c|z|example|",
		`circle|circle.yaml||||public|inherits from itself, by way of "./circle"`,
		`circle2|circle2.yaml||||public|inherits from itself, by way of "circle2"`,
		"crlf|crlf.yaml|With CRLF.|||public|",
		"flow|flow.yaml|Steps.|||public|",
		"folded.fsm|folded.fsm.yaml|One two.|||public|",
		"grandchild|grandchild.yaml|Inherits.|c|z|example|",
		`heir|heir.yaml||||public|inherits from "broken", which has a mistake: 3:1: a tab indents this line; YAML wants spaces (YAML: found character that cannot start any token)`,
		`itself|itself.yaml||||public|inherits from itself`,
		"json|json.yaml|As JSON.|||public|",
		"list|list.yaml|||||1:1: expected a mapping with name, initial and states, found a list",
		"little|little.yaml|Still lacks something.|||public|lacks initial",
		"long|long.yaml|goes initial: on|||public|",
		"nothing|nothing.yaml||||public|lacks states",
		`orphan|orphan.yaml||||public|inherits from "nobody", which does not exist`,
		"plain|plain.yaml|What it does.|c|a,b|example|",
		"quoted|quoted.yaml|Quoted: keys.|||public|",
		"sub/deep|sub/deep.yaml|d|||public|",
		"sub/lib/kept|sub/lib/kept.yaml|d|||public|",
		`twice|twice.yaml|d|||public|"name" occurs twice; the first is at line 1, column 1`,
	}
	for i := range want { // broken files keep the visibility of the default
		want[i] = strings.Replace(want[i], "|||||", "||||public|", 1)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := List(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	// Whatever is listed without a problem can be resolved by its name.
	for _, e := range entries {
		if path, err := (&Loader{Loops: dir}).Resolve(e.Name, dir); err != nil || path != e.Path {
			t.Errorf("%s: %s, %v", e.Name, path, err)
		}
	}
}

// TestHeaderScan compares the quick reader of headers with the full one.
func TestHeaderScan(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scanned := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		quick := scanHeader(data)
		full := parseHeader(f, data)
		if quick == nil || full.broken() {
			continue
		}
		scanned++
		if fmt.Sprint(quick) != fmt.Sprint(full) {
			t.Errorf("%s: %v, want %v", f, quick, full)
		}
	}
	if scanned < 90 {
		t.Errorf("only %d of %d files were read quickly", scanned, len(files))
	}
}

// BenchmarkList reads 100 definitions of 10 KB.
func BenchmarkList(b *testing.B) {
	files := map[string]string{}
	for i := range 100 {
		var s strings.Builder
		fmt.Fprintf(&s, "name: loop%d\ndescription: |\n  Does something.\n  And more.\ncategory: bench\n"+
			"labels: [a, b]\ninitial: s0\nstates:\n", i)
		for n := 0; s.Len() < 10_000; n++ {
			fmt.Fprintf(&s, "  s%d:\n    action: |\n      set -euo pipefail\n"+
				"      echo \"${context.goal} $${x}\" | tee out.txt\n    on_yes: s%d\n    on_no: s0\n", n, n)
		}
		files[fmt.Sprintf("loop%d.yaml", i)] = s.String()
	}
	dir := tree(b, files)
	for b.Loop() {
		entries, err := List(dir)
		if err != nil || len(entries) != 100 || entries[0].Problem != "" {
			b.Fatal(len(entries), err)
		}
	}
}

func TestStartsNowhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want bool
	}{
		{"initial: a\nstates:\n  a: {terminal: true}\n", false},
		{"initial: b\nstates:\n  a: {terminal: true}\n", true},
		{"initial: b\nstates:\n  a: {next: b}\n", true},
		{"initial: a\nstates: {a: {terminal: true}}\n", false},
		{"initial: b\nstates: {\"b\" : {terminal: true}}\n", false},
		{"initial: b\nstates:\n  'b': {terminal: true}\n", false},
		{"initial: b\nstates:\n  ? b\n  : {terminal: true}\n", false},
		{"initial: b\nstates:\n  \"\\x62\": {terminal: true}\n", false},
		{"initial: b\nx: &x {b: {terminal: true}}\nstates:\n  <<: *x\n", false},
		{"initial: b\nflow: [a?b:c, c]\n", false},
		{"initial: b\nfrom: parent\nstates: {}\n", false},
		{"initial: yes\nstates:\n  yes: {terminal: true}\n", false},
		{"initial: two words\nstates:\n  two words: {terminal: true}\n", false},
		{"initial: >\n  b\nstates:\n  b: {terminal: true}\n", false},
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(path, []byte("name: x\n"+c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := readHeader(path).startsNowhere(); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
		if loop, _, err := Load(path); c.want && (err != nil || loop != nil) {
			t.Errorf("%q starts nowhere, and yet it loads: %v", c.text, err)
		}
	}
}
