package app

import (
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/report"
	"loops/persistence"
)

// TestSetEnding: how a run ended, where only the list of runs has it, as in the records of little-loops.
func TestSetEnding(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		status persistence.Status
		ended  string
		end    int
		Text   string
	}{
		"done":   {persistence.Completed, fsm.EndTerminal, report.Good, "Loop completed: work (3 steps, 7.0s)"},
		"failed": {persistence.Failed, fsm.EndTerminal, report.Failed, "Loop failed: work (3 steps, 7.0s)"},
		"circle": {
			persistence.Failed, fsm.EndCycle, report.Broken,
			"Loop stopped in a cycle: work (3 steps, 7.0s)",
		},
		"capped": {
			persistence.Interrupted, fsm.EndMaxSteps, report.Broken,
			"Loop stopped at its cap of steps: work (3 steps, 7.0s)",
		},
		"interrupted": {
			persistence.Interrupted, fsm.EndInterrupted, report.Broken,
			"Loop interrupted: work (3 steps, 7.0s)",
		},
		"killed":     {persistence.Interrupted, "", report.Broken, "Loop killed: work (3 steps, 7.0s)"},
		"handed off": {persistence.Awaiting, "", report.Broken, "Loop awaiting continuation: work (3 steps, 7.0s)"},
	} {
		run := persistence.Run{
			ID: "fix-1", Loop: "fix", Status: c.status, Ended: c.ended, State: "work", Step: 3, StartedAt: began,
			Elapsed: 7 * time.Second, Foreign: true,
		}
		var face report.Run
		SetEnding(&face, run, nil, "work")
		if face.End != c.end || face.Text != c.Text {
			t.Errorf("%s: %d %q, want %d %q", name, face.End, face.Text, c.end, c.Text)
		}
	}
}

// A cap that ends a run on its way to a state leaves the last visit as the end; that state is said to be next.
func TestSetEndingOfCapped(t *testing.T) {
	t.Parallel()
	run := persistence.Run{
		ID: "fix-1", Loop: "fix", Status: persistence.Interrupted, Ended: fsm.EndMaxSteps,
		State: "mend", Step: 3, MaxSteps: 3, Elapsed: 7 * time.Second,
	}
	for at, want := range map[string][2]string{
		"check": {
			"Loop stopped at its cap of 3 steps in check; mend would have been next (3 steps, 7.0s)",
			"Next state",
		},
		"mend": {"Loop stopped at its cap of 3 steps: mend (3 steps, 7.0s)", "State"},
		"":     {"Loop stopped at its cap of 3 steps: mend (3 steps, 7.0s)", "State"},
	} {
		face := report.Run{Facts: [][2]string{{"State", "mend"}}}
		SetEnding(&face, run, nil, at)
		if face.Text != want[0] || face.Facts[0][0] != want[1] {
			t.Errorf("last in %q: %q, %q; want %q", at, face.Text, face.Facts[0][0], want)
		}
	}
}
