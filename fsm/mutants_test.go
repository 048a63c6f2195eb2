package fsm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each rule of testdata/mutants.txt is in its file once, so that `make mutants` can take it out.
func TestRulesOfMutantsAreInTheSource(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for block := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if len(lines) < 3 || strings.HasPrefix(lines[0], "//") {
			continue // a comment, or the name of a group
		}
		rules++
		var old []string
		for _, line := range lines[2:] {
			if rest, ok := strings.CutPrefix(line, "<"); ok {
				old = append(old, rest)
			}
		}
		source, err := os.ReadFile(filepath.Join("..", lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), "\n"+strings.Join(old, "\n")+"\n"); n != 1 {
			t.Errorf("%s: its lines are in %s %d times", lines[0], lines[1], n)
		}
	}
	if rules < 100 {
		t.Errorf("only %d rules were found", rules)
	}
}
