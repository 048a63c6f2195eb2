package testenv

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The one flag of this name in this module; "make golden" sets it for all packages.
var update = flag.Bool("update", false, "rewrite the files that hold what tests expect")

// Update reports whether expected output is to be rewritten, for tests that keep it elsewhere than in a file of
// its own.
func Update() bool { return *update }

// Golden reports an error unless the file holds got. With -update it rewrites the file first. Line ends of
// another system in the file do not matter.
func Golden(t testing.TB, file, got string) {
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
