package view

import (
	"fmt"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/inspect"
)

// WokenText says that a wait of a run was ended.
func WokenText(s engine.Effect) string {
	who := "it"
	if s.Path != "" {
		who = inspect.PlaceText(s.Path)
	}
	text := fmt.Sprintf("Woke %s (pid %d): %s waited for %s.", s.Before.ID, s.Before.Owner.PID, who,
		inspect.WaitText(s.Wait))
	switch {
	case s.Others == 1:
		text += " The run has another wait; each call ends one."
	case s.Others > 1:
		text += fmt.Sprintf(" The run has %d other waits; each call ends one.", s.Others)
	}
	return text
}

// Woken returns a wait of a run that was ended.
func Woken(s engine.Effect) api.Woken {
	r := s.Before
	return api.Woken{
		Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, PID: r.Owner.PID, Path: api.Text(s.Path),
		WaitedFor: inspect.WaitText(s.Wait), Others: s.Others,
	}
}
