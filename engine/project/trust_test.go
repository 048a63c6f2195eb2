package project

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm/loopfile"
	"loops/internal/testenv"
)

// TestExamplesAreKnown: each loop of .loops.example runs in a fresh clone, because the program knows it by its bytes.
func TestExamplesAreKnown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.loops.example/*.yaml")
	parts, _ := filepath.Glob("../../.loops.example/*/*.yaml")
	if err != nil || len(files) < 10 || len(parts) < 4 {
		t.Fatalf("%d examples with %d parts, %v", len(files), len(parts), err)
	}
	files = append(files, parts...)
	want := ""
	for _, file := range files {
		if loopfile.IsSuite(file) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want += fmt.Sprintf("%x  %s\n", sha256.Sum256(b), strings.TrimPrefix(file, "../../"))
	}
	testenv.Golden(t, "examples.sum", want)
}
