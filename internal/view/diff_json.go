package view

import (
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// PathObject is a path for a program.
func PathObject(p *inspect.Path) *value.Map {
	m := value.NewMap("instance_id", string(p.Run.ID), "loop", p.Run.Loop, "status", terminal.OrNull(string(p.Run.Status)), "terminated_by", terminal.OrNull(p.Run.Ended),
		"current_state", p.Run.State, "iterations", int64(p.Run.Step), "duration_ms", inspect.Elapsed(p.Run).Milliseconds(),
		"sha256", terminal.OrNull(p.Run.SHA256))
	AddCost(m, &p.Costs.Total)
	return m
}

// StepObject is a step for a program; nil where there is none.
func StepObject(s *inspect.AlignedStep) any {
	if s == nil {
		return nil
	}
	var code any
	if s.Exited {
		code = int64(s.Exit)
	}
	return value.NewMap("step", s.Number, "state", s.Path, "exit_code", code, "verdict", terminal.OrNull(s.Verdict), "to", terminal.OrNull(s.To),
		"duration_ms", s.Took.Milliseconds(), "first_event", int64(s.First), "last_event", int64(s.Last))
}
