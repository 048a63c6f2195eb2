package view

import (
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/persistence"
)

// PlannedTree describes the work tree in a plan. RUN stands for the id that the run will have.
func PlannedTree(p *project.Project, t *engine.TreePlan) (lines []string) {
	if t == nil {
		return nil
	}
	if t.Of != "" {
		return []string{"Work tree: " + p.Short(t.Path) + ", of run " + t.Of}
	}
	branch := "branch " + t.Branch + " at "
	if t.New {
		branch = "new branch " + t.Branch + " from "
	}
	lines = []string{fmt.Sprintf("Work tree: %s (%s%s)", p.Short(t.Path), branch, t.Commit), "  at the end: " + t.End}
	for _, note := range t.Notes {
		lines = append(lines, "  "+note)
	}
	return lines
}

// plannedTree returns the work tree of a plan.
func plannedTree(t *engine.TreePlan) *api.PlannedTree {
	if t.Of != "" {
		return &api.PlannedTree{Path: t.Path, Of: t.Of}
	}
	return &api.PlannedTree{
		Path: t.Path, Branch: t.Branch, New: &t.New, Commit: t.Commit, End: string(t.End),
		LeftBy: new(api.Text(t.LeftBy)), Changed: &t.Changed,
		Submodules: &t.Submodules,
	}
}

// TreeText says for a person in which work tree a run is, "" if it is in none.
func TreeText(p *project.Project, r persistence.Run) string {
	t := engine.TreeOf(p, r)
	switch {
	case t == nil:
		return ""
	case t.Of != "":
		return p.Short(t.Tree.Path) + " (of run " + t.Of + ")"
	}
	return p.Short(t.Tree.Path) + " (branch " + t.Tree.Branch + ")"
}
