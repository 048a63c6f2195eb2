package view

import (
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/terminal"
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

// PlannedTreeObject is the same for a program.
func PlannedTreeObject(t *engine.TreePlan) *value.Map {
	if t.Of != "" {
		return value.NewMap("path", t.Path, "of", t.Of)
	}
	return value.NewMap("path", t.Path, "branch", t.Branch, "new_branch", t.New, "commit", t.Commit, "end", t.End,
		"left_by", terminal.OrNull(t.LeftBy), "changed_files", int64(t.Changed), "submodules", t.Submodules)
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

// AddTree adds to an object in which work tree a run is, if it is in one.
func AddTree(m *value.Map, r persistence.Run) {
	if t := engine.TreeOf(&project.Project{}, r); t != nil {
		m.Set("worktree", value.NewMap("path", t.Tree.Path, "branch", terminal.OrNull(t.Tree.Branch), "end", t.End, "of", terminal.OrNull(t.Of)))
	}
}
