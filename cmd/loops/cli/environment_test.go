package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every variable that a source file names is in the topic; those of the policy helper are context values like
// any other.
func TestEnvironmentTopicIsComplete(t *testing.T) {
	text := helpEnvironment().Long
	literal := regexp.MustCompile(`"((?:LOOPS|LL)_[A-Z_]*[A-Z]|NO_COLOR|TERM)"`)
	seen := 0
	for _, pattern := range []string{"*.go", "../../../engine/action/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatal(err, files)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range literal.FindAllStringSubmatch(string(source), -1) {
				seen++
				if !strings.Contains(text, m[1]) && !strings.HasPrefix(m[1], "LOOPS_CONTEXT_") &&
					m[1] != "LOOPS_PREV_OUTPUT_FILE" {
					t.Errorf("%s: loops help environment lacks %s", file, m[1])
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d names were found", seen)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > 125 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}
