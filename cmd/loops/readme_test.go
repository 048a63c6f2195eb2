package main_test

import (
	"strings"
	"testing"
)

// TestReadme runs the loop of the README, kills it and resumes it, as the README shows. The README stays a page
// that can be read at once.
func TestReadme(t *testing.T) {
	t.Parallel()
	const page = "../../README.md"
	if n := strings.Count(readText(t, page), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, and may have 120: move details to docs", n)
	}
	newStage(t, page).play(3)
}
