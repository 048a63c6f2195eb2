package view

import (
	"loops/engine"
	"loops/fsm/value"
	"loops/internal/terminal"
)

// ExtendedLines say which limits of a run were raised.
func ExtendedLines(page *Page, s engine.Effect) (lines []string) {
	id := string(s.Before.ID)
	for _, line := range s.Raised {
		lines = append(lines, id+": "+string(page.Text(line)))
	}
	if !s.Taken {
		lines = append(lines, id+" takes them when its action or wait ends.")
	}
	return lines
}

// ExtendedObject says the same for a program.
func ExtendedObject(page *Page, s engine.Effect) *value.Map {
	r := s.Before
	raised := terminal.List(s.Raised, func(t engine.Text) any { return string(page.Text(t)) })
	return value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "pid", int64(r.Owner.PID), "raised", raised, "taken", s.Taken)
}
