package lint_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestCases holds one mistake a file, or a text that only looks like one: NAME.yaml and, in NAME.out, what its author
// is told.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			problems := check(t, name+".yaml", data)
			for _, p := range problems {
				if p.Pos.File != name+".yaml" || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Path == "" && p.Rule != "too-many" || p.Message == "" {
					t.Errorf("incomplete: %+v", p)
				}
				if r, ok := lint.Lookup(p.Rule); !ok {
					t.Errorf("the rule %q has no page", p.Rule)
				} else if r.Severity == fsm.SeverityWarning && p.Severity == fsm.SeverityError && p.Rule != "capture-field" && p.Rule != "too-many" {
					t.Errorf("%s is an error, its page says warning", p.Rule)
				}
			}
			got := loopfile.Render(problems, func(string) []byte { return data }, false)
			out := strings.TrimSuffix(file, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(out, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// check loads a loop that must load and returns everything that is said about it.
func check(t *testing.T, name string, data []byte) []fsm.Problem {
	t.Helper()
	l, problems := loopfile.Parse(name, data)
	if l == nil {
		t.Fatalf("the loop does not load:\n%s", loopfile.Render(problems, nil, false))
	}
	return append(problems, lint.Check(l)...)
}
