package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoalAtATerminal: the loop of a goal is written and shown; Enter runs it, an answer that is not yes and
// Ctrl-C leave it there. One of several checks is chosen by its number.
func TestGoalAtATerminal(t *testing.T) {
	t.Parallel()
	makefile := map[string]string{"Makefile": "test:\n\t@true\n"}
	both := map[string]string{"Makefile": makefile["Makefile"], "package.json": `{"scripts": {"test": "exit 1"}}`}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		number  []string // what is typed where one of several checks is chosen
		types   string
		runs    bool
		want    string // in what is shown
		unasked bool   // the loop is not written, so nothing is asked
	}{
		{name: "Enter", files: makefile, types: "\n", runs: true, want: `check: "make test"`},
		{name: "yes", files: makefile, types: "y\n", runs: true},
		{name: "no", files: makefile, types: "n\n", want: "To run it:\n  loops run goal-it-is-checked"},
		{name: "another word", files: makefile, types: "later\n"},
		{name: "interrupt", files: makefile, types: "\x03"},
		{name: "end of input", files: makefile, types: "\x04"},
		{
			name: "module", files: map[string]string{"go.mod": "module m\n"}, types: "n\n",
			want: `check: "go vet ./... && go test ./..."`,
		},
		{
			name: "by number", files: both, number: []string{"2\n"}, types: "\n", runs: true,
			want: "Which check has to pass?\n  1  npm test (package.json)\n  2  make test (Makefile)\nNumber: ",
		},
		{
			name: "by number, at last", files: both, number: []string{"0\n", "make\n", "2\n"}, types: "\n", runs: true,
			want: `check: "make test"`,
		},
		{
			name: "no such number", files: both, number: []string{"3\n", "x\n", "\n"}, unasked: true,
			want: "several files declare tests; say which check has to pass: 'npm test' (package.json), 'make " +
				"test' (Makefile)",
		},
		{name: "no number", files: both, number: []string{"\x03"}, unasked: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
			must(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "bin", "claude"), []byte("#!/bin/sh\nexit 9\n"), 0o755))
			// a machine need not have it
			must(t, os.WriteFile(filepath.Join(dir, "bin", "make"), []byte("#!/bin/sh\ngrep -q exit bin/claude\n"),
				0o755))
			for name, text := range tt.files {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			x := typistIn(t, dir, "sh", "-c", `PATH=$PWD/bin:$PATH exec "$0" goal "It is checked" --host claude`,
				binary(t))
			for i, line := range tt.number {
				x.until("Number: ", i+1)
				x.types(line)
			}
			if !tt.unasked {
				x.until("Enter runs it, Ctrl-C leaves it there: ", 1)
				x.types(tt.types)
			}
			out := x.ends()
			_, written := os.Stat(filepath.Join(dir, ".loops", "goal-it-is-checked.yaml"))
			runs, _ := filepath.Glob(filepath.Join(dir, ".loops", "runs", "*"))
			if (written == nil) == tt.unasked || (len(runs) == 1) != tt.runs ||
				tt.runs != strings.Contains(out, "Loop completed: check") || !strings.Contains(out, tt.want) {
				t.Errorf("written: %v, runs: %q:\n%s", written, runs, out)
			}
			proof, question := "never enter done without check\n\nProtected, with what comes to match the patterns: ",
				"\n\nEnter runs it, Ctrl-C leaves it there: "
			if _, rest, shown := strings.Cut(out, proof); !tt.unasked && (!shown || !strings.Contains(rest, question)) {
				t.Errorf("it is not asked after the proof:\n%s", out)
			}
		})
	}
}
