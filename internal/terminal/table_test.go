package terminal

import (
	"strings"
	"testing"

	"loops/internal/humanize"
)

// TestListFitsTheTerminal: no line of the list is wider than the terminal, however narrow, and on a wide one
// nothing is cut.
func TestListFitsTheTerminal(t *testing.T) {
	rows := [][]string{
		{"LOOP", "LAST RUN", "DESCRIPTION"},
		{"fix", "completed 3h ago", "short"},
		{"a-loop-with-quite-a-long-name", "-", strings.Repeat("many words 漢字 ", 20)},
	}
	for _, width := range []int{40, 60, 80, 132} {
		var b strings.Builder
		WriteTable(&b, Fit(rows, width))
		for line := range strings.Lines(b.String()) {
			if n := humanize.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns for %d: %s", n, width, line)
			}
		}
		if !strings.Contains(b.String(), "…") {
			t.Errorf("%d: what was cut has no mark:\n%s", width, b.String())
		}
	}
	var all, wide strings.Builder
	WriteTable(&all, rows)
	WriteTable(&wide, Fit(rows, 1000))
	if all.String() != wide.String() || !strings.Contains(all.String(), strings.Repeat("many words 漢字 ", 19)) {
		t.Errorf("cut though there is room:\n%s", wide.String())
	}
}
