package app

import (
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/report"
	"loops/persistence"
)

// SetEnding says how the run ended, whose last visit was of the state at; "" = it is not known.
func SetEnding(face *report.Run, run persistence.Run, o *fsm.Outcome, at string) {
	if o == nil {
		o = &fsm.Outcome{
			TerminatedBy: run.Ended, FinalState: run.State, Steps: run.Step,
			Failure: run.Status == persistence.Failed, Error: run.Error, Ignored: run.Ignored, Merge: run.Merge,
			Duration: inspect.Elapsed(run),
		}
		if run.Ended == "" {
			o.TerminatedBy = humanize.Words(inspect.Outcome(run))
		}
		face.End = report.Broken
		switch {
		case run.Status == persistence.Completed && !run.Unmerged():
			face.End = report.Good
		case run.Status == persistence.Failed && run.Ended == fsm.EndTerminal:
			face.End = report.Failed
		case run.Status == persistence.Running && project.Alive(run):
			face.End = report.Going
		}
	} else {
		switch {
		case inspect.Succeeded(*o):
			face.End = report.Good
		case o.Unmerged():
			face.End = report.Broken
		case o.TerminatedBy == fsm.EndTerminal:
			face.End = report.Failed
		default:
			face.End = report.Broken
		}
	}
	face.Text, _, _ = strings.Cut(inspect.EndAt(*o, run.MaxSteps, at), "\n")
	if inspect.ComesNext(*o, at) {
		for i := range face.Facts {
			if face.Facts[i][0] == "State" {
				face.Facts[i][0] = "Next state"
			}
		}
	}
}
