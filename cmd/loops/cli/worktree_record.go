package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/worktree"
	"loops/persistence"
)

// treeOption is the option of a run that says in which work tree it is. It is recorded before git is asked for the tree.
const treeOption = "worktree"

// object is what is recorded. Path and branch are left out where they follow from the id of the run.
func (t *runTree) object() *value.Map {
	m := value.NewMap()
	set := func(key, val string) {
		if val != "" {
			m.Set(key, val)
		}
	}
	set("of", t.of)
	if t.tree.Path != "" { // relative to the project
		set("path", filepath.Join(worktree.Folder, filepath.Base(t.tree.Path)))
	}
	set("sub", t.tree.Sub)
	set("branch", t.tree.Branch)
	if t.tree.New {
		m.Set("new", true)
	}
	set("base", t.tree.Base)
	set("into", t.tree.Into)
	set("before", t.tree.Before)
	set("end", t.end)
	return m
}

// treeOf returns the work tree that a recorded run is in, nil if it is in none.
func (a *app) treeOf(p *project.Project, r persistence.Run) *runTree {
	t := recordedTree(p, r)
	if t != nil {
		t.app = a
	}
	return t
}

// recordedTree is what is recorded of the work tree of a run, nil if it is in none. Of the zero project its path is relative.
func recordedTree(p *project.Project, r persistence.Run) *runTree {
	v, _ := r.Options.Get(treeOption)
	m, ok := v.(*value.Map)
	if !ok {
		return nil
	}
	text := func(key string) string {
		v, _ := m.Get(key)
		s, _ := v.(string)
		return s
	}
	made, _ := m.Get("new")
	t := &runTree{of: text("of"), end: cmp.Or(text("end"), worktree.Keep), tree: worktree.Tree{
		Path: text("path"), Sub: text("sub"), Branch: text("branch"), New: made == true, Base: text("base"), Into: text("into"), Before: text("before"),
	}}
	if t.tree.Path != "" { // the project may have been moved since
		t.tree.Path = filepath.Join(p.Dir, worktree.Folder, filepath.Base(t.tree.Path))
	}
	t.tree = t.own(p, r.ID)
	return t
}

// keep has a run that is resumed stay in its work tree.
func (t *runTree) keep(spec *persistence.Spec) {
	if t == nil {
		return
	}
	if spec.Options == nil {
		spec.Options = value.NewMap()
	}
	spec.Options.Set(treeOption, t.object())
}

// there refuses to go on with a run whose work tree is gone. begun says that its actions have been in it.
func (t *runTree) there(ctx context.Context, p *project.Project, id persistence.ID, begun bool) error {
	if t == nil || !begun || t.of != "" {
		return nil
	}
	git, done := t.app.git(p, "")
	defer done()
	if err := t.tree.Gone(ctx, git); err != nil {
		if _, is := err.(*worktree.Refusal); is { //nolint:errorlint // it is made there
			return failure(exitNotFound, "%v. Then: %s", err, t.app.command("resume", string(id)))
		}
		return treeError(err)
	}
	return nil
}

// header puts the work tree into what is printed when a run begins or goes on.
func (t *runTree) header(h *header, p *project.Project) {
	if t == nil {
		return
	}
	tree := t.own(p, h.Run.ID)
	h.Worktree, h.Branch = tree.Path, tree.Branch
	if tree.Branch == "" {
		h.Notes = append(h.Notes, "worktree: "+p.Short(tree.Path)+" (of run "+t.of+")")
	} else {
		h.Notes = append(h.Notes, "worktree: "+p.Short(tree.Path)+" (branch "+tree.Branch+")")
	}
	if t.plan != nil {
		for _, note := range t.notes() {
			h.Notes = append(h.Notes, "  "+note)
		}
	}
}

// notes says what a person should know of a work tree that is made.
func (t *runTree) notes() (notes []string) {
	if t.tree.Before != "" {
		notes = append(notes, fmt.Sprintf("run %s left it; what it left there is still in it", t.tree.Before))
	}
	if n := t.plan.Changed; n > 0 {
		notes = append(notes, fmt.Sprintf("not in it: %s of this checkout with changes that are not committed", phrase.Count(n, "file")))
	}
	if t.plan.Submodules && t.tree.Before == "" {
		notes = append(notes, "its submodules are empty; an action can fill them: git submodule update --init")
	}
	return notes
}

// planned tells of the work tree in a plan. RUN stands for the id that the run will have.
func (t *runTree) planned(p *project.Project) (lines []string) {
	if t == nil {
		return nil
	}
	tree := t.own(p, "RUN")
	if t.of != "" {
		return []string{"Work tree: " + p.Short(tree.Path) + ", of run " + t.of}
	}
	branch := "branch " + tree.Branch + " at "
	if tree.New && tree.Before == "" {
		branch = "new branch " + tree.Branch + " from "
	}
	lines = []string{fmt.Sprintf("Work tree: %s (%s%s)", p.Short(tree.Path), branch, t.plan.Head), "  at the end: " + t.end}
	for _, note := range t.notes() {
		lines = append(lines, "  "+note)
	}
	return lines
}

// plannedObject is the same for a program.
func (t *runTree) plannedObject(p *project.Project) *value.Map {
	tree := t.own(p, "RUN")
	if t.of != "" {
		return value.NewMap("path", tree.Path, "of", t.of)
	}
	return value.NewMap("path", tree.Path, "branch", tree.Branch, "new_branch", tree.New && tree.Before == "", "commit", t.plan.Head, "end", t.end,
		"left_by", orNull(tree.Before), "changed_files", int64(t.plan.Changed), "submodules", t.plan.Submodules)
}

// treeText says for a person in which work tree a run is, "" if it is in none.
func treeText(p *project.Project, r persistence.Run) string {
	t := recordedTree(p, r)
	switch {
	case t == nil:
		return ""
	case t.of != "":
		return p.Short(t.tree.Path) + " (of run " + t.of + ")"
	}
	return p.Short(t.tree.Path) + " (branch " + t.tree.Branch + ")"
}

// addTree adds to an object in which work tree a run is, if it is in one.
func addTree(m *value.Map, r persistence.Run) {
	if t := recordedTree(&project.Project{}, r); t != nil {
		m.Set("worktree", value.NewMap("path", t.tree.Path, "branch", orNull(t.tree.Branch), "end", t.end, "of", orNull(t.of)))
	}
}
