package views

import (
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/persistence"
)

// PausedText says that a run was asked to pause, or that it stands.
func PausedText(page *Page, s engine.Effect) string {
	r := s.Before
	if s.Wait == nil {
		return fmt.Sprintf("Run %s (pid %d) is in state %s and pauses before its next one. Let it go on with: %s", r.ID, r.Owner.PID, r.State, page.Command("unpause", string(r.ID)))
	}
	return fmt.Sprintf("Paused %s (pid %d) before state %s. Let it go on with: %s", r.ID, r.Owner.PID, s.Wait.State, page.Command("unpause", string(r.ID)))
}

// UnpausedText says that a run is paused no more.
func UnpausedText(page *Page, r persistence.Run) string {
	if project.Alive(r) {
		return fmt.Sprintf("Run %s (pid %d) goes on.", r.ID, r.Owner.PID)
	}
	return fmt.Sprintf("Run %s is no longer paused, and %s. Go on with: %s", r.ID, inspect.StatusWord(r), page.Command("resume", string(r.ID)))
}
