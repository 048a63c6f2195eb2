package loopfile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestProblems holds one mistake a file: NAME.yaml and, in NAME.out, what its author is told.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			short := name + ".yaml"
			loop, problems := Parse(short, data)
			if len(problems) == 0 {
				t.Error("no problem found")
			}
			failed := false
			for _, p := range problems {
				failed = failed || p.Severity == fsm.SeverityError
				if p.Pos.File != short || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Rule == "" || p.Message == "" {
					t.Errorf("incomplete: %+v", p)
				}
			}
			if failed != (loop == nil) {
				t.Errorf("loop == nil is %v with errors %v", loop == nil, failed)
			}
			got := Render(problems, func(string) []byte { return data }, false)
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
