package cli

import (
	"testing"

	"loops/fsm"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		o    fsm.Outcome
		want int
	}{
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal}, 0},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Failure: true}, 1},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Merge: fsm.MergeDone}, 0},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Merge: fsm.MergeConflict}, 12},
		{fsm.Outcome{TerminatedBy: fsm.EndTerminal, Merge: fsm.MergeRefused}, 12},
		{fsm.Outcome{TerminatedBy: fsm.EndError}, 1},
		{fsm.Outcome{TerminatedBy: fsm.EndError, Limited: true}, 75},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted, Limited: true}, 75},
		{fsm.Outcome{TerminatedBy: fsm.EndSystemSignal}, 1},
		{fsm.Outcome{TerminatedBy: fsm.EndMaxSteps}, 5},
		{fsm.Outcome{TerminatedBy: fsm.EndMaxIterations}, 5},
		{fsm.Outcome{TerminatedBy: fsm.EndTimeout}, 6},
		{fsm.Outcome{TerminatedBy: fsm.EndStall}, 7},
		{fsm.Outcome{TerminatedBy: fsm.EndCycle}, 7},
		{fsm.Outcome{TerminatedBy: fsm.EndHostBudget}, 8},
		{fsm.Outcome{TerminatedBy: fsm.EndHostPressure}, 8},
		{fsm.Outcome{TerminatedBy: fsm.EndHandoff}, 10},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted}, 0},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted, Signal: "SIGHUP"}, 129},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted, Signal: "SIGINT"}, 130},
		{fsm.Outcome{TerminatedBy: fsm.EndInterrupted, Signal: "SIGTERM"}, 143},
		{fsm.Outcome{TerminatedBy: fsm.EndUserStopped}, 143},
		{fsm.Outcome{TerminatedBy: "something new"}, 1},
	} {
		if got := exitOf(c.o); got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.o, got, c.want)
		}
		found := false
		for _, row := range table {
			found = found || row.code == exitOf(c.o)
		}
		if !found {
			t.Errorf("exit code %d is not in the table", exitOf(c.o))
		}
	}
}
