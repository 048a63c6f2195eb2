package view

import (
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

// ProblemObject is a problem of a file for a program.
func ProblemObject(p *project.Project, pr fsm.Problem) *value.Map {
	m := value.NewMap("severity", string(pr.Severity), "rule", pr.Rule, "path", pr.Path, "message", pr.Message)
	if pr.Pos.File != "" {
		m.Set("file", p.Short(pr.Pos.File))
	}
	if pr.Pos.Line > 0 {
		m.Set("line", int64(pr.Pos.Line))
		m.Set("col", int64(pr.Pos.Col))
	}
	return m
}
