package view

import (
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
)

// Problem returns a problem of a file.
func Problem(p *project.Project, pr fsm.Problem) api.Violation {
	v := api.Violation{Severity: string(pr.Severity), Rule: pr.Rule, Path: pr.Path, Message: pr.Message}
	if pr.Pos.File != "" {
		v.File = p.Short(pr.Pos.File)
	}
	if pr.Pos.Line > 0 {
		v.Line, v.Col = pr.Pos.Line, &pr.Pos.Col
	}
	return v
}
