package app

import (
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/lint"
)

// A CheckRequest says what is checked, and how.
type CheckRequest struct {
	Words   []string                                    // loops, files and folders; none = all loops of the project
	Strict  bool                                        // warnings count as errors
	All     bool                                        // style rules are reported too
	Options engine.Options                              // of the engine that would run the loops
	Explain func(err error) (text string, missing bool) // why a file was not checked, and whether it is missing
}

// Check checks what is asked for. The error says that there is nothing to check.
func Check(p *project.Project, q CheckRequest) (Findings, error) {
	lib, err := p.Library()
	if err != nil {
		return Findings{}, err
	}
	files, others, err := chosenFiles(lib, q.Words)
	if err != nil {
		return Findings{}, err
	}
	if q.All {
		for i := range files {
			if f := &files[i]; f.Loop != nil {
				f.Problems = append(slices.Clip(f.Problems), lint.Optional(f.Loop)...)
				slices.SortStableFunc(f.Problems, project.ByPlace)
			}
		}
	}
	adviseCosts(p, files, q.Options)
	adviseFiles(p, files)
	return newFindings(files, projectFiles(p, q.Explain), others, q.Strict, q.Explain), nil
}
