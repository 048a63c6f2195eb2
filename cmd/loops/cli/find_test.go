package cli

import (
	"testing"

	"loops/engine/project"
)

func TestLoopOf(t *testing.T) {
	for id, want := range map[string]string{
		"fix-20261121T103405":         "fix",
		"a-b-20261121T103405":         "a-b",
		"2026-11-21T103405":           "*",
		"2026-11-21T103405-fix":       "fix",
		"2026-11-21T103405-a-b":       "a-b",
		"team%2Ffix-20261121T103405":  "*",
		"fix":                         "",
		"":                            "",
		"fix-20261121":                "",
		"-20261121T103405":            "",
		"fix-2026112xT103405":         "",
		"20261121T103405":             "",
		"a-2026-11-21T103405":         "",
		"fix-20261121T103405-more":    "",
		"x-20261121T103405-20261121T": "",
	} {
		if got := project.LoopOf(id); got != want {
			t.Errorf("loopOf(%q) = %q, want %q", id, got, want)
		}
	}
}
