package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/fsm/loopfile"
)

// TestDefinitionLoadsAgain records every loop there is, with its sub-loops, and finds no difference.
func TestDefinitionLoadsAgain(t *testing.T) {
	n := 0
	for _, file := range loopFiles(t) {
		files := &loopfile.Loader{Loops: filepath.Dir(file), Catalog: filepath.Dir(filepath.Dir(file))}
		l, _, err := files.Load(file)
		if err != nil || l == nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		d, err := project.NewDefinition(files, l)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		again, err := project.ParseDefinition(d.Encode(), d.Project)
		if err != nil || len(again.Loops) != len(d.Loops) {
			t.Errorf("%s: %v, %d loops of %d", file, err, len(again.Loops), len(d.Loops))
			continue
		}
		for _, r := range again.Loops {
			before, _, err := files.Load(r.File)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := r.Load()
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if loaded.SHA256 != before.SHA256 || loaded.File != before.File {
				t.Errorf("%s: %s is %s, sha256 %s", file, before.File, loaded.File, loaded.SHA256)
			}
			if lines := loopfile.Differences(before, loaded); len(lines) > 0 {
				t.Errorf("%s: %s differs from itself:\n%s", file, r.File, strings.Join(lines, "\n"))
			}
			n++
		}
	}
	if n < 12 {
		t.Errorf("only %d loops", n)
	}
}

func TestDifferences(t *testing.T) {
	const before = `name: a
initial: x
timeout: 60
context: {one: 1, two: {deep: [1, 2]}}
states:
  x:
    action: |
      first
      second
    capture: c
    evaluate: {type: output_contains, pattern: p}
    on_yes: y
    on_no: end
  y: {action: "a long text that begins like the other one, word for word, and goes on so", next: end}
  z: {action: z, next: end}
  end: {terminal: true}
`
	for _, c := range []struct {
		name        string
		replace, by string
		want        string
	}{
		{"nothing", "", "", ""},
		{"only the way it is written", "timeout: 60\n", "timeout: 60 # seconds\n\n", ""},
		{"a key", "timeout: 60", "timeout: 61", "timeout: 60 -> 61"},
		{"a key is gone", "timeout: 60\n", "", "timeout was removed: 60"},
		{"a new key", "timeout: 60", "timeout: 60\nmax_steps: 7", "max_steps was added: 7"},
		{"a value of the context", "deep: [1, 2]", "deep: [1, 3]", "context.two.deep: [1, 2] -> [1, 3]"},
		{"another kind of value", "one: 1", "one: {a: 1}", `context.one: 1 -> {"a": 1}`},
		{"one more value", "one: 1", "one: 1, three: x", `context.three was added: "x"`},
		{"a line", "second", "2nd", `state x, action, line 2: "second" -> "2nd"`},
		{"a line more", "second", "second\n      third", `state x, action, line 3: "" -> "third"`},
		{"far behind in a line", "goes on so", "ends", `state y, action: "…word, and goes on so" -> "…word, and ends"`},
		{
			"a verdict", "on_no: end", "on_error: end",
			"state x, on_no was removed: \"end\"\nstate x, on_error was added: \"end\"",
		},
		{"inside a key", "pattern: p", "pattern: q", `state x, evaluate.pattern: "p" -> "q"`},
		{"a state is gone", "  z: {action: z, next: end}\n", "", "state z was removed"},
		{"a new state", "  z: ", "  w: {action: w, next: end}\n  z: ", "state w was added"},
		{"another name", "  z: ", "  zz: ", "state z was removed\nstate zz was added"},
	} {
		was, _ := loopfile.Parse("a.yaml", []byte(before), nil)
		now, problems := loopfile.Parse("a.yaml", []byte(strings.Replace(before, c.replace, c.by, 1)), nil)
		if was == nil || now == nil {
			t.Fatalf("%s: %v", c.name, problems)
		}
		if got := strings.Join(loopfile.Differences(was, now), "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestManyDifferences(t *testing.T) {
	text := func(n int) []byte {
		var b strings.Builder
		b.WriteString("name: a\ninitial: end\nstates:\n  end: {terminal: true}\n")
		for i := range n {
			b.WriteString("  s" + strings.Repeat("x", i) + ": {action: a, next: end}\n")
		}
		return []byte(b.String())
	}
	was, _ := loopfile.Parse("a.yaml", text(0), nil)
	for n, last := range map[int]string{
		11: "state sxxxxxxxxxx was added", 12: "state sxxxxxxxxxxx was added",
		13: "and 2 more changes", 40: "and 29 more changes",
	} {
		now, _ := loopfile.Parse("a.yaml", text(n), nil)
		lines := loopfile.Differences(was, now)
		if len(lines) != min(n, loopfile.MostChanges) || lines[len(lines)-1] != last {
			t.Errorf("%d new states: %q", n, lines)
		}
	}
}
