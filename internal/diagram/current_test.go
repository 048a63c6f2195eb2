package diagram_test

import (
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/diagram"
)

// TestCurrent wants the state a run is in lit, and named by a mark, wherever it is drawn.
func TestCurrent(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{
		Name: "fix", Initial: "build", Order: []string{"build", "check", "done"},
		States: map[string]*fsm.State{
			"build": {Name: "build", Action: "make", Next: "check"},
			"check": {
				Name: "check", Action: "make test lint race",
				On: map[string]string{"yes": "done", "no": "build"},
			},
			"done": {Name: "done", Terminal: true},
		},
	}
	g := diagram.Of(l)
	g.Measure(diagram.Measure{
		By: "visits", Order: []string{"build", "check"},
		Taken:   []diagram.Step{{From: "build", To: "check", Times: 3}, {From: "check", To: "build", Times: 2}},
		Current: "check",
	})
	for _, c := range []struct {
		name  string
		lines [][]diagram.Span
		want  []string
	}{
		{"boxes", g.Lines(80), []string{"│ ● check", "3×", "no 2×"}},
		{"list", g.Lines(20), []string{"● check\n│ $ make test", "├─ yes ─▶ done\n", "╰─ no 2× ─▶ build\n"}},
		{
			"around", g.Around("build", "check", 80),
			[]string{"build ─ 3× ─▶\n● check\n├─ yes ─▶ done\n╰─ no 2× ─▶ build\n"},
		},
		{"around the first state", g.Around("", "build", 80), []string{"▶ build\n╰─ 3× ─▶ check\n"}},
		{"around a state that is none", g.Around("build", "gone", 80), []string{""}},
	} {
		var text strings.Builder
		lit := ""
		for _, line := range c.lines {
			for _, s := range line {
				text.WriteString(s.Text)
				if s.Style == diagram.Lit {
					lit += s.Text + ";"
				}
			}
			text.WriteString("\n")
		}
		for _, part := range c.want {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s: %q is not in\n%s", c.name, part, text.String())
			}
		}
		if want := strings.Contains(text.String(), "●"); want != (lit == "● check;") {
			t.Errorf("%s: lit is %q in\n%s", c.name, lit, text.String())
		}
	}
}
