package view

import (
	"fmt"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// PausedText says that a run was asked to pause, or that it is paused.
func PausedText(page *Page, s engine.Effect) string {
	r := s.Before
	if s.Wait == nil {
		return fmt.Sprintf("Run %s (pid %d) is in state %s and pauses before its next one. Continue it with: %s",
			r.ID, r.Owner.PID, r.State, page.Command("unpause", string(r.ID)))
	}
	return fmt.Sprintf("Paused %s (pid %d) before state %s. Continue it with: %s", r.ID, r.Owner.PID, s.Wait.State,
		page.Command("unpause", string(r.ID)))
}

// UnpausedText says that a run is paused no more.
func UnpausedText(page *Page, r persistence.Run) string {
	if project.Alive(r) {
		return fmt.Sprintf("Run %s (pid %d) is running.", r.ID, r.Owner.PID)
	}
	return fmt.Sprintf("Run %s is no longer paused, and %s. Resume with: %s", r.ID, inspect.Outcome(r),
		page.Command("resume", string(r.ID)))
}

// StoppedText reports the result of a run that was asked to stop, and had so long to end before it was killed.
func StoppedText(page *Page, s engine.Effect, grace time.Duration) string {
	r, pid := s.Run, s.Before.Owner.PID
	switch {
	case s.Before.Status == persistence.Queued && r.Status == persistence.UserStopped:
		return fmt.Sprintf("Took run %s out of the queue of workers. Nothing of it was run.", r.ID)
	case s.Before.Ended == fsm.EndSuspended && r.Status == persistence.UserStopped && !project.Alive(s.Before):
		return fmt.Sprintf("Stopped %s, which was suspended, in state %s: unblock does not continue it now. "+
			"Resume with: %s", r.ID, r.State, page.Command("resume", string(r.ID)))
	case s.Recalled && !project.Alive(r):
		return fmt.Sprintf("Stopped %s in state %s: no process had it, and no worker continues it now. "+
			"Resume with: %s", r.ID, r.State, page.Command("resume", string(r.ID)))
	case s.Killed:
		return fmt.Sprintf("Killed %s (pid %d), which did not stop within %s, in state %s. Resume with: %s", r.ID,
			pid, humanize.Duration(grace), r.State, page.Command("resume", string(r.ID)))
	case project.Alive(r):
		return fmt.Sprintf("Run %s (pid %d) begins no further item, and ends when those at work have ended. Stop it "+
			"in the middle of them with: %s", r.ID, pid, page.Command("stop", string(r.ID)))
	case r.Status.Resumable():
		return fmt.Sprintf("Stopped %s (pid %d) in state %s. Resume with: %s", r.ID, pid, r.State,
			page.Command("resume", string(r.ID)))
	}
	return fmt.Sprintf("Run %s (pid %d) ended before it could be stopped: %s in state %s.", r.ID, pid,
		inspect.Outcome(r), r.State)
}

// Stopped returns the result of a run that was asked to stop.
func Stopped(s engine.Effect) api.Stopped {
	r := s.Run
	return api.Stopped{
		Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, PID: s.Before.Owner.PID,
		Stopped: r.Status.Resumable() && !project.Alive(r), Killed: s.Killed,
		Status: string(r.Status), State: r.State,
	}
}

// Paused returns that a run was asked to pause, or that it is paused.
func Paused(s engine.Effect) api.Paused {
	r := s.Before
	return api.Paused{
		Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, PID: r.Owner.PID, Paused: s.Wait != nil,
		State: r.State,
	}
}

// Unpaused returns that a run is paused no more.
func Unpaused(s engine.Effect) api.Unpaused {
	r := s.Before
	return api.Unpaused{Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, GoesOn: project.Alive(r), State: r.State}
}
