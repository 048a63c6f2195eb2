// Package golden compares what a test made with the file that holds what is expected. With -update, the one flag of that
// name in this module, the file is rewritten first; "make golden" rewrites all of them.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that hold what tests expect")

// Update reports whether expected output is to be rewritten, for tests that keep it elsewhere than in a file of its own.
func Update() bool { return *update }

// Check reports an error unless the file holds got. Line ends of another system in the file do not matter.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if d := Difference(got, string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")))); d != "" {
		t.Errorf("%s differs; if the change is meant, rewrite it with -update\n%s", file, d)
	}
}

// Difference shows got and the first line in which it differs from want, "" if it does not.
func Difference(got, want string) string {
	if got == want {
		return ""
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	line := func(lines []string) string {
		if i < len(lines) {
			return fmt.Sprintf("%q", lines[i])
		}
		return "the end"
	}
	return fmt.Sprintf("line %d is %s, want %s; got all of\n%s", i+1, line(a), line(b), got)
}
