package fsm_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"loops/fsm"
)

// TestEventKinds: a kind that is added is among those that users can ask for.
func TestEventKinds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("events.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`(?m)^\tEvent\w+ += "(\w+)"`).FindAllSubmatch(text, -1) {
		kinds = append(kinds, string(m[1]))
	}
	if !slices.Equal(kinds, fsm.EventKinds) || len(kinds) == 0 {
		t.Errorf("the constants are\n%v\nand EventKinds\n%v", kinds, fsm.EventKinds)
	}
}
