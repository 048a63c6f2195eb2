package engine

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// treeOption is the option of a run that says in which work tree it is. It is recorded before git is asked for
// the tree.
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
		set("path", filepath.Join(git.TreesFolder, filepath.Base(t.tree.Path)))
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
func (e *Engine) treeOf(p *project.Project, r persistence.Run) *runTree {
	t := recordedTree(p, r)
	if t != nil {
		t.o = e.o
	}
	return t
}

// recordedTree is what is recorded of the work tree of a run, nil if it is in none. Of the zero project its
// path is relative.
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
	t := &runTree{of: text("of"), end: cmp.Or(text("end"), git.Keep), tree: git.Tree{
		Path: text("path"), Sub: text("sub"), Branch: text("branch"), New: made == true, Base: text("base"),
		Into: text("into"), Before: text("before"),
	}}
	if t.tree.Path != "" { // the project may have been moved since
		t.tree.Path = filepath.Join(p.Dir, git.TreesFolder, filepath.Base(t.tree.Path))
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

// there refuses to continue with a run whose work tree is gone. begun says that its actions have been in it.
func (t *runTree) there(ctx context.Context, p *project.Project, id persistence.ID, begun bool) error {
	if t == nil || !begun || t.of != "" {
		return nil
	}
	runGit, done := Git(p, t.o, "", true)
	defer done()
	if err := t.tree.Gone(ctx, runGit); err != nil {
		if _, is := err.(*git.Refusal); is { //nolint:errorlint // it is made there
			return refuse(NotFound, "%v. Then: %s", err, Do(OpResume, string(id)))
		}
		return TreeError(err)
	}
	return nil
}

// header puts the work tree into what is printed when a run begins or continues.
func (t *runTree) header(h *Header, p *project.Project) {
	if t == nil {
		return
	}
	tree := t.own(p, h.Run.ID)
	h.Worktree, h.Branch = tree.Path, tree.Branch
	if tree.Branch == "" {
		h.Notes = append(h.Notes, textf("worktree: %s (of run %s)", p.Short(tree.Path), t.of))
	} else {
		h.Notes = append(h.Notes, textf("worktree: %s (branch %s)", p.Short(tree.Path), tree.Branch))
	}
	if t.plan != nil {
		for _, note := range t.notes() {
			h.Notes = append(h.Notes, textf("  %s", note))
		}
	}
}

// notes says what a person should know of a work tree that is made.
func (t *runTree) notes() (notes []string) {
	if t.tree.Before != "" {
		notes = append(notes, fmt.Sprintf("run %s left it; what it left there is still in it", t.tree.Before))
	}
	if n := t.plan.Changed; n > 0 {
		notes = append(notes, fmt.Sprintf("not in it: %s of this checkout with changes that are not committed",
			humanize.Count(n, "file")))
	}
	if t.plan.Submodules && t.tree.Before == "" {
		notes = append(notes, "its submodules are empty; an action can fill them: git submodule update --init")
	}
	return notes
}

// A TreePlan is the work tree that a run would have. In its path, RUN stands for the id of the run.
type TreePlan struct {
	Path, Branch string
	Of           string // the run whose work tree it is, where that is another; else ""
	New          bool   // the branch is made
	Commit       string // that the branch is at
	End          string // keep, merge or discard
	LeftBy       string // the run that left it; "" = none
	Changed      int    // files of this checkout with changes that are not committed, and not in it
	Submodules   bool   // it has some, and they are empty
	Notes        []string
}

func (t *runTree) planned(p *project.Project) *TreePlan {
	if t == nil {
		return nil
	}
	tree := t.own(p, "RUN")
	if t.of != "" {
		return &TreePlan{Path: tree.Path, Of: t.of}
	}
	return &TreePlan{
		Path: tree.Path, Branch: tree.Branch, New: tree.New && tree.Before == "", Commit: t.plan.Head, End: t.end,
		LeftBy: tree.Before, Changed: t.plan.Changed,
		Submodules: t.plan.Submodules, Notes: t.notes(),
	}
}

// A RecordedTree is what is recorded of the work tree of a run.
type RecordedTree struct {
	Tree git.Tree
	End  string // keep, merge or discard
	Of   string // the run whose work tree it is, where that is another; else ""
}

// TreeOf returns the work tree that a recorded run is in, nil if it is in none. Of the zero Project its path is
// relative.
func TreeOf(p *project.Project, r persistence.Run) *RecordedTree {
	t := recordedTree(p, r)
	if t == nil {
		return nil
	}
	return &RecordedTree{t.tree, t.end, t.of}
}
