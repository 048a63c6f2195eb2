package loopfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
)

// load loads a file of a tree and fails the test if it has errors.
func load(t testing.TB, l *Loader, path string) *fsm.Loop {
	t.Helper()
	loop, problems, err := l.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if loop == nil {
		t.Fatal(Render(problems, fileText, false))
	}
	return loop
}

func fileText(file string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return data
}

func caller(loop string) string {
	return "name: n\ndescription: d\ninitial: s\nstates:\n  s: {loop: '" + loop +
		"', on_yes: done}\n  done: {terminal: true}\n"
}

// TestChild says which file a name means, by the file it is in.
func TestChild(t *testing.T) {
	// Not parallel: the test changes the working directory.
	dir := tree(t, map[string]string{
		"p/.loops/main.yaml": caller("x"), "p/.loops/a/b/deep.yaml": caller("x"), "p/docs/sketch.yaml": caller("x"),
		"p/.loops/a/near.yaml": good, "p/.loops/near.yaml": good, "p/.loops/top.yaml": good,
		"p/.loops/both.yaml": good, "p/.loops/both.fsm.yaml": good,
		"p/.loops/a/b/own.yaml": good, "p/.loops/team/x.yaml": good, "p/.loops/only.yml": good,
		"p/.loops/folder.yaml/x": "", "p/.loops/folder/x": "",
		"p/beside.yaml": good, "p/docs/here.yaml": good, "p/.git/config": "", "above.yaml": good,
		"c/main.yaml": caller("x"), "c/oracles/ask.yaml": caller("x"), "c/oracles/peer.yaml": good,
		"c/shared.yaml": good, "c/near.yaml": good, "above2.yaml": good,
		"loose/sub/main.yaml": caller("x"), "loose/peer.yaml": good, "loose/repo/.git/config": "",
		"loose/repo/x/main.yaml": caller("x"), "cwd/child.yaml": good,
	})
	t.Chdir(filepath.Join(dir, "cwd"))
	l := &Loader{Loops: filepath.Join(dir, "p/.loops"), Catalog: filepath.Join(dir, "c")}
	tests := []struct{ from, name, want string }{
		{"p/.loops/main.yaml", "top", "p/.loops/top.yaml"},
		{"p/.loops/main.yaml", "both", "p/.loops/both.fsm.yaml"},
		{"p/.loops/main.yaml", "team/x", "p/.loops/team/x.yaml"},
		{"p/.loops/main.yaml", "team/x.yaml", "p/.loops/team/x.yaml"},
		{"p/.loops/main.yaml", "only.yml", "p/.loops/only.yml"},
		{"p/.loops/main.yaml", "only", ""},
		{"p/.loops/main.yaml", "folder", ""},
		{"p/.loops/main.yaml", "shared", "c/shared.yaml"},
		{"p/.loops/main.yaml", "../beside", "p/beside.yaml"},
		{"p/.loops/main.yaml", "beside", ""}, // a project's loops are in its folder
		{"p/.loops/main.yaml", "child", ""},  // never the working directory
		{"p/.loops/main.yaml", filepath.Join(dir, "above"), "above.yaml"},
		{"p/.loops/main.yaml", "", ""},
		{"p/.loops/main.yaml", "a\x00b", ""},
		{"p/.loops/main.yaml", "top/", ""},
		{"p/.loops/a/b/deep.yaml", "own", "p/.loops/a/b/own.yaml"},
		{"p/.loops/a/b/deep.yaml", "near", "p/.loops/a/near.yaml"},
		{"p/.loops/a/b/deep.yaml", "top", "p/.loops/top.yaml"},
		{"p/.loops/a/b/deep.yaml", "../near", "p/.loops/a/near.yaml"},
		{"p/.loops/a/b/deep.yaml", "../top", ""}, // .. means one folder
		{"p/docs/sketch.yaml", "here", "p/docs/here.yaml"},
		{"p/docs/sketch.yaml", "beside", "p/beside.yaml"},
		{"p/docs/sketch.yaml", "top", "p/.loops/top.yaml"},
		{"p/docs/sketch.yaml", "above", ""}, // beyond .git
		{"c/oracles/ask.yaml", "oracles/peer", "c/oracles/peer.yaml"},
		{"c/oracles/ask.yaml", "near", "c/near.yaml"}, // the catalog's own come first
		{"c/oracles/ask.yaml", "top", "p/.loops/top.yaml"},
		{"c/oracles/ask.yaml", "above2", ""}, // beyond the catalog
		{"loose/sub/main.yaml", "peer", "loose/peer.yaml"},
		{"loose/repo/x/main.yaml", "peer", ""},               // beyond .git
		{"p/docs/sketch.yaml", "near", "p/.loops/near.yaml"}, // before the catalog
	}
	for _, tt := range tests {
		from := &fsm.Loop{File: filepath.Join(dir, tt.from)}
		got, err := l.Child(tt.name, from)
		want := tt.want
		if want != "" {
			want = filepath.Join(dir, want)
		}
		var missing *NotFoundError
		if got != want || (want == "") != errors.As(err, &missing) || want == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Child(%q) = %q, %v; want %q", tt.from, tt.name, got, err, want)
		}
	}
	_, err := l.Child("tpo", &fsm.Loop{File: filepath.Join(dir, "p/.loops/a/b/deep.yaml")})
	want := `no loop called "tpo" (looked for tpo.fsm.yaml and tpo.yaml in .loops/a/b, .loops/a, .loops and ` + dir +
		`/c); did you mean top?`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// TestChildOfInherited looks names up where their text is, and then where the loop is.
func TestChildOfInherited(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"main.yaml": "name: n\ndescription: d\nfrom: lib/base\nimport: [lib/gates.yaml]\nstates:\n" +
			"  g: {fragment: gate, on_yes: h}\n  h: {loop: '${context.which}', on_yes: done}\n",
		"other.yaml": "name: n\ndescription: d\nfrom: lib/base\nimport: [lib/gates.yaml]\nstates:\n" +
			"  g: {fragment: dynamic, on_yes: done}\n",
		"lib/base.yaml":  "initial: s\nstates:\n  s: {loop: one, on_yes: g}\n  done: {terminal: true}\n",
		"lib/gates.yaml": "fragments:\n  gate: {loop: two}\n  dynamic: {loop: '${context.which}'}\n",
		"lib/one.yaml":   good, "one.yaml": good, "lib/two.yaml": good, "lib/three.yaml": good, "three.yaml": good,
		"four.yaml": good,
	})
	l := &Loader{Loops: dir}
	for _, tt := range []struct{ loop, name, want string }{
		{"main", "one", "lib/one.yaml"},
		{"main", "two", "lib/two.yaml"},
		{"main", "three", "three.yaml"},
		{"main", "four", "four.yaml"},
		{"other", "one", "lib/one.yaml"},
		{"other", "three", "lib/three.yaml"},
		{"other", "four", "four.yaml"},
	} {
		// Another loader must find the same: a run continues in another process.
		got, err := (&Loader{Loops: dir}).Child(tt.name, load(t, l, filepath.Join(dir, tt.loop+".yaml")))
		if err != nil || got != filepath.Join(dir, tt.want) {
			t.Errorf("%s runs %s: %s, %v; want %s", tt.loop, tt.name, got, err, tt.want)
		}
	}
}

// TestInheritedImport imports what a parent names: from the parent's folder, or else from that of the loop.
func TestInheritedImport(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/main.yaml": "name: n\ndescription: d\nfrom: b/base\n",
		"b/base.yaml": "initial: s\nimport: [one.yaml, two.yaml]\nstates:\n  s: {fragment: one, next: t}\n" +
			"  t: {fragment: two, next: done}\n  done: {terminal: true}\n",
		"a/one.yaml": "fragments: {one: {action: of the loop}}\n",
		"b/one.yaml": "fragments: {one: {action: of the parent}}\n",
		"a/two.yaml": "fragments: {two: {action: of the loop}}\n",
	})
	l := load(t, &Loader{Loops: dir}, filepath.Join(dir, "a/main.yaml"))
	if got := l.States["s"].Action + ", " + l.States["t"].Action; got != "of the parent, of the loop" {
		t.Error(got)
	}
}

// TestOverride lets a loop of the project inherit from the one of the same name in the catalog.
func TestOverride(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"p/.loops/same.yaml": "from: same\nmax_steps: 7\n", "c/same.yaml": good,
	})
	l := &Loader{Loops: filepath.Join(dir, "p/.loops"), Catalog: filepath.Join(dir, "c")}
	path, err := l.Resolve("same", dir)
	if err != nil {
		t.Fatal(err)
	}
	if loop := load(t, l, path); loop.MaxSteps != 7 || loop.Name != "n" ||
		loop.File != filepath.Join(dir, "p/.loops/same.yaml") {
		t.Errorf("%+v", loop)
	}
	if got, err := (&Loader{Catalog: filepath.Join(dir, "c")}).Resolve("same", dir); err != nil ||
		got != filepath.Join(dir, "c/same.yaml") {
		t.Errorf("from the catalog: %s, %v", got, err)
	}
}

// TestMerge says what a loop holds that is made of several files.
func TestMerge(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"base.yaml": `name: base
labels: [a, b]
import: [lib/common.yaml]
context: {x: 1, y: 2, deep: {p: 1, q: [1, 2]}}
states:
  work: {action: one, on_yes: done, evaluate: {type: output_contains, pattern: OK}}
  done: {terminal: true}
`,
		"lib/f.yaml": `fragments:
  gate:
    description: Never part of a state.
    parameters: {n: {type: integer, default: 3}}
    action_type: shell
    evaluate: {negate: true}
  other: {action: imported}
  twice: {action: first}
`,
		"lib/g.yaml":      "fragments:\n  twice: {action: second}\n",
		"lib/common.yaml": "fragments:\n  unused: {action: x}\n",
		"child.yaml": `name: c
description: d
from: base
initial: work
import: [lib/f.yaml, lib/g.yaml]
fragments:
  other: {action: local, timeout: 5}
labels: [z]
context: {y: 5, deep: {q: [3]}}
states:
  work: {fragment: gate, with: {n: 4}, action: two}
  more: {fragment: other, with: {free: 1}, next: last}
  last: {fragment: twice, next: work}
`,
	})
	l := load(t, &Loader{Loops: dir}, filepath.Join(dir, "child.yaml"))
	w, more := l.States["work"], l.States["more"]
	for _, tt := range []struct{ got, want any }{
		{l.Name, "c"},
		{l.Labels, "[z]"},
		{l.Order, "[work done more last]"},
		{value.Repr(l.Context), "{'x': 1, 'y': 5, 'deep': {'p': 1, 'q': [3]}}"},
		{w.Action, "two"},
		{w.ActionType, "shell"},
		{w.On, "map[yes:done]"},
		{w.Evaluate.Type, "output_contains"},
		{w.Evaluate.Pattern, "OK"},
		{w.Evaluate.Negate, true},
		{w.With == nil, true},
		{w.Fragment.Name, "gate"},
		{value.Repr(w.Fragment.Bindings), "{'n': 4}"},
		{len(w.Fragment.Parameters), 1},
		{more.Action, "local"},
		{more.Timeout, "5s"},
		{value.Repr(more.Fragment.Bindings), "{'free': 1}"},
		{more.Fragment.Parameters == nil, true},
		{l.States["last"].Action, "second"},
		{l.States["done"].Fragment == nil, true},
	} {
		if fmt.Sprint(tt.got) != fmt.Sprint(tt.want) {
			t.Errorf("got %v, want %v", tt.got, tt.want)
		}
	}
	param := w.Fragment.Parameters[0]
	if param.Pos.String() != filepath.Join(dir, "lib/f.yaml")+":4:18" || param.Default != int64(3) {
		t.Errorf("%+v", param)
	}
}

// TestFlow checks which states a flow stands for.
func TestFlow(t *testing.T) {
	t.Parallel()
	tests := []struct{ flow, defs, want string }{
		{"[a, b, c]", "", "a next=b; b next=c; c terminal"},
		{"[a, 'b?c:d:e', c, 'd:e']", "", "a next=b; b no=d:e yes=c; c next=d:e; d:e terminal"},
		{"[a, 'x?a:end', end]", "{x: {action: test}}", "a next=x; x action=test no=end yes=a; end terminal"},
		{"[a, b]", "{a: {next: a}, b: {terminal: false, next: a}, c: }", "a next=a; b next=a"},
		{"[a, 'b?a:b']", "", "a next=b; b no=b terminal yes=a"},
		{"[yes, no]", "{yes: {on_error: no}}", "yes error=no next=no; no terminal"},
		{"[a, b, a, c]", "", "a next=c; b next=a; c terminal"},
		{"['true', 1]", "", "true next=1; 1 terminal"},
		{"[a, 'null', b]", "", "a next=null; null next=b; b terminal"},
	}
	for _, tt := range tests {
		text := "name: n\ndescription: d\ninitial: a\nflow: " + tt.flow + "\n"
		if tt.defs != "" {
			text += "state_defs: " + tt.defs + "\n"
		}
		d := newDecoder(newSource("x.yaml", nil, []byte(text)), nil)
		l := d.build() // mistakes or not: a test at the end, or initial that is no state
		if l == nil {
			t.Errorf("%s: %v", tt.flow, d.problems)
			continue
		}
		var got []string
		for _, name := range l.Order {
			s := l.States[name]
			line := name
			if s.Action != "" {
				line += " action=" + s.Action
			}
			for _, v := range []string{"error", "no"} {
				if s.On[v] != "" {
					line += " " + v + "=" + s.On[v]
				}
			}
			if s.Next != "" {
				line += " next=" + s.Next
			}
			if s.Terminal {
				line += " terminal"
			}
			if s.On["yes"] != "" {
				line += " yes=" + s.On["yes"]
			}
			got = append(got, line)
		}
		if g := strings.Join(got, "; "); g != tt.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", tt.flow, tt.defs, g, tt.want)
		}
	}
}

// TestHash pins what a changed definition is noticed by: the text, if there is one file, and else every text.
func TestHash(t *testing.T) {
	t.Parallel()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := tree(t, map[string]string{
		"one.yaml": good, "heir.yaml": "from: one\nimport: [gates.yaml]\n",
		"gates.yaml": "fragments: {g: {action: x}}\n", "runs.yaml": caller("one"),
	})
	hash := func(name string) string {
		t.Helper()
		return load(t, &Loader{Loops: dir}, filepath.Join(dir, name)).SHA256
	}
	sum := sha256.Sum256([]byte(good))
	if got := hash("one.yaml"); got != hex.EncodeToString(sum[:]) {
		t.Errorf("one file: %s", got)
	}
	heir, caller := hash("heir.yaml"), hash("runs.yaml")
	if len(heir) != 64 || heir == hash("one.yaml") || heir != hash("heir.yaml") {
		t.Errorf("several files: %s", heir)
	}
	write(dir, "gates.yaml", "fragments: {g: {action: y}}\n")
	changed := hash("heir.yaml")
	write(dir, "one.yaml", good+"# more\n")
	if changed == heir || hash("heir.yaml") == changed {
		t.Error("a change in another file goes unnoticed")
	}
	if hash("runs.yaml") != caller {
		t.Error("a loop changed with one that it runs")
	}
}

// TestLoaderKeepsFiles pins that a file is read once.
func TestLoaderKeepsFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.yaml": "from: base\n", "b.yaml": "from: base\nmax_steps: 3\n",
		"base.yaml": good,
	})
	l := &Loader{Loops: dir}
	first := load(t, l, filepath.Join(dir, "a.yaml"))
	if err := os.WriteFile(filepath.Join(dir, "base.yaml"), []byte("broken: ["), 0o644); err != nil {
		t.Fatal(err)
	}
	load(t, l, filepath.Join(dir, "b.yaml"))
	if load(t, l, filepath.Join(dir, "./a.yaml")) != first {
		t.Error("a loop was made twice")
	}
	if loop, _, err := (&Loader{Loops: dir}).Load(filepath.Join(dir, "a.yaml")); loop != nil || err != nil {
		t.Errorf("another loader: %v, %v", loop, err)
	}
}

// TestLoaderAtOnce uses one loader from many goroutines, on loops that inherit from and run each other.
func TestLoaderAtOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"lib/g.yaml": "fragments:\n  g: {action: make}\n",
		"base.yaml":  "initial: s\nimport: [lib/g.yaml]\nstates: {done: {terminal: true}}\n",
	}
	const n = 12
	for i := range n {
		files[fmt.Sprintf("l%d.yaml", i)] = fmt.Sprintf("name: l%d\ndescription: d\n"+
			"from: base\nparameters: {p: {type: integer}}\nstates:\n"+
			"  s: {fragment: g, next: t}\n  t: {loop: l%d, with: {p: 1}, on_yes: done}\n"+
			"  u: {loop: l%d, with: {q: 1}, on_yes: done}\n", i, (i+1)%n, (i+5)%n)
	}
	dir := tree(t, files)
	l := &Loader{Loops: dir}
	var wg sync.WaitGroup
	for i := range 4 * n {
		wg.Go(func() {
			loop, problems, err := l.Load(filepath.Join(dir, fmt.Sprintf("l%d.yaml", i%n)))
			if loop != nil || err != nil || len(problems) != 1 || problems[0].Rule != "unknown-binding" {
				t.Errorf("%v, %v, %v", loop, problems, err)
			}
			if _, _, err := l.Effective(filepath.Join(dir, fmt.Sprintf("l%d.yaml", i%n)), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestRecursion has loops that run each other in circles, two states each: a loader that follows every reference
// again would never end.
func TestRecursion(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	const n = 20
	for i := range n {
		files[fmt.Sprintf("l%d.yaml", i)] = fmt.Sprintf("name: l%d\ndescription: d\n"+
			"initial: s\nparameters: {p: {type: integer, required: true}}\n"+
			"states:\n  s: {loop: l%d, with: {p: 1}, on_yes: t}\n  t: {loop: l%d, with: {p: '${context.p}'}, "+
			"on_yes: done}\n  done: {terminal: true}\n", i, (i+1)%n, i)
	}
	dir := tree(t, files)
	l := &Loader{Loops: dir}
	load(t, l, filepath.Join(dir, "l0.yaml"))
	if len(l.sources) != 2 {
		t.Errorf("%d files were read for a loop that runs itself and another one", len(l.sources))
	}
}

// TestCatalog loads whole folders of loops. The catalog of loops by others is not part of this repository; where it
// is missing, the other folders are looked at all the same.
func TestCatalog(t *testing.T) {
	t.Parallel()
	l := &Loader{Catalog: catalog + "/catalog"}
	for dir, least := range map[string]int{"../../.loops.example": 5, catalog: 0} {
		n := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && dir == catalog {
				t.Logf("%s is not there: nothing of it was looked at", dir)
				return nil
			}
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" || IsSuite(path) ||
				filepath.Base(filepath.Dir(path)) == "lib" {
				return err
			}
			n++
			loop, problems, err := l.Load(path)
			if loop == nil || err != nil {
				t.Errorf("%s: %v\n%s", path, err, Render(problems, fileText, false))
			}
			return nil
		})
		if err != nil || n < least || dir == catalog && n > 0 && n != 106 {
			t.Errorf("%s: %d files, %v", dir, n, err)
		}
	}
}

// Load reads one loop file with a Loader of its own.
func Load(path string) (*fsm.Loop, []fsm.Problem, error) { return new(Loader).Load(path) }
