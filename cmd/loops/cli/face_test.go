package cli

import (
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/ciformat"
	"loops/persistence"
)

// TestFaceEnd: how a run ended, where only the list of runs tells, as in the records of the reference tool.
func TestFaceEnd(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		status persistence.Status
		ended  string
		end    int
		text   string
	}{
		"done":        {persistence.Completed, fsm.EndTerminal, ciformat.Good, "Loop completed: work (3 steps, 7.0s)"},
		"failed":      {persistence.Failed, fsm.EndTerminal, ciformat.Failed, "Loop failed: work (3 steps, 7.0s)"},
		"circle":      {persistence.Failed, fsm.EndCycle, ciformat.Broken, "Loop ended: it went in circles: work (3 steps, 7.0s)"},
		"capped":      {persistence.Interrupted, fsm.EndMaxSteps, ciformat.Broken, "Loop stopped at its cap of steps: work (3 steps, 7.0s)"},
		"interrupted": {persistence.Interrupted, fsm.EndInterrupted, ciformat.Broken, "Loop interrupted: work (3 steps, 7.0s)"},
		"killed":      {persistence.Interrupted, "", ciformat.Broken, "Loop interrupted: work (3 steps, 7.0s)"},
		"handed off":  {persistence.Awaiting, "", ciformat.Broken, "Loop awaiting continuation: work (3 steps, 7.0s)"},
	} {
		run := persistence.Run{
			ID: "fix-1", Loop: "fix", Status: c.status, Ended: c.ended, State: "work", Step: 3, StartedAt: began, Elapsed: 7 * time.Second, Foreign: true,
		}
		var face ciformat.Run
		(&app{}).faceEnd(&face, run, nil)
		if face.End != c.end || face.Text != c.text {
			t.Errorf("%s: %d %q, want %d %q", name, face.End, face.Text, c.end, c.text)
		}
	}
}
