package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/internal/agent"
	"loops/internal/testenv"
)

// The rules whose severity depends on the loop, as their pages say.
var either = map[string]bool{"bash-default": true, "capture-field": true, "unknown-capture": true, "bad-value": true}

// TestCases holds one mistake a file, or a text that only looks like one: NAME.yaml and, in NAME.out, the problems
// that are reported.
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, problems, sources := load(t, name+".yaml", string(data))
			for _, p := range problems {
				if sources[p.Pos.File] == nil || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Message == "" {
					t.Errorf("incomplete: %+v", p)
				}
				if r, ok := lint.Lookup(p.Rule); !ok {
					t.Errorf("the rule %q has no page", p.Rule)
				} else if r.Severity != p.Severity && !either[p.Rule] {
					t.Errorf("%s is of severity %s, its page says %s", p.Rule, p.Severity, r.Severity)
				}
			}
			got := loopfile.Render(problems, func(name string) []byte { return sources[name] }, false)
			out := strings.TrimSuffix(file, ".yaml") + ".out"
			testenv.Golden(t, out, got)
		})
	}
}

// load reads a loop in one or more files: a line "-- NAME --" begins the next one. It returns everything that is said
// about it, with the names of the files as they are here, and their texts.
func load(t *testing.T, name, text string) (*fsm.Loop, []fsm.Problem, map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	sources := map[string][]byte{}
	main, file := name, name
	for _, part := range strings.SplitAfter("\n"+text, "\n-- ") {
		body, more := strings.CutSuffix(part, "\n-- ")
		if next, rest, ok := strings.Cut(body, " --\n"); ok && file == "" {
			file, body = next, rest
		} else {
			body = strings.TrimPrefix(body, "\n")
		}
		if more || !strings.HasSuffix(body, "\n") {
			body += "\n"
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		sources[file] = []byte(body)
		if file = ""; !more {
			break
		}
	}
	loader := &loopfile.Loader{Loops: dir}
	path := filepath.Join(dir, main)
	l, problems, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if l != nil {
		problems = append(problems, lint.Check(l)...)
		problems = append(problems, lint.CheckTargets(l, nil)...)
		problems = append(problems, lint.CheckAgents(l, []string{"claude", "codex", "gemini", "qwen"},
			func(text []byte) error {
				_, err := agent.ParseSchema(text)
				return err
			})...)
	} else if draft := loader.Draft(path); draft != nil {
		problems = append(problems, lint.CheckTexts(draft)...)
	}
	for i := range problems {
		p := &problems[i]
		p.Pos.File = strings.TrimPrefix(p.Pos.File, dir+"/")
		p.Message = strings.ReplaceAll(p.Message, dir+"/", "")
	}
	return l, problems, sources
}
