package checkpoint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// flat is code without its indentation.
func flat(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

// The Go code of docs/checkpoint.md is in the examples, which are compiled and run, and the tests it names exist.
func TestPage(t *testing.T) {
	t.Parallel()
	page, examples := text(t, "../../docs/checkpoint.md"), flat(text(t, "example_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples, flat(b[1])) {
			t.Errorf("this is in no example:\n%s", b[1])
		}
	}
	tests := ""
	for _, f := range []string{
		"crash_test.go", "damage_test.go", "run_test.go", "stage_test.go", "store_test.go",
		"../sqlstore/checkpoints_test.go", "../sqlstore/same_test.go",
	} {
		tests += text(t, f)
	}
	names := regexp.MustCompile("`((Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(page, -1)
	if len(names) < 15 {
		t.Fatalf("%d tests are named", len(names))
	}
	for _, n := range names {
		if !strings.Contains(tests, "func "+n[1]+"(") {
			t.Errorf("there is no %s", n[1])
		}
	}
}
