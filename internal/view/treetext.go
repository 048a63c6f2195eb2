package view

import (
	"cmp"
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/git"
	"loops/internal/humanize"
)

// TreeLines returns sentences about the result of a work tree. The first is enough for short output; it is "" where
// nothing came of the tree.
func TreeLines(r engine.TreeReport) (lines []string) {
	place := r.Project.Short(r.Tree.Path)
	work := fmt.Sprintf("Work tree %s (branch %s)", place, r.Tree.Branch)
	switch {
	case r.Err != nil:
		return []string{
			work + " was left as it is: " + humanize.OneLine(r.Err),
			"  look at it: git -C " + humanize.ShellWord(place) + " status",
		}
	case r.State.Unlinked != nil:
		return []string{
			"The folder is left as it is, but " + r.State.Unlinked.Error() + ".",
			"  repair: " + r.State.Unlinked.Repair(),
		}
	case r.State.Gone && !r.Branch:
		return []string{work + " is gone, and so is its branch."}
	case r.State.Gone:
		lines = []string{work + " is gone, and what was not committed there with it. The branch stays, with " +
			contents(r) + "."}
		return append(lines, hints(r, place)...)
	case r.Stays:
		return []string{work + " stays for the run, with " + contents(r) + "."}
	case r.Merged != "" && !r.Kept:
		text := fmt.Sprintf("Merged %s of branch %s into %s, and removed the work tree",
			humanize.Count(r.State.Commits, "commit"), r.Tree.Branch, r.Merged)
		if !r.Branch {
			text += " and the branch"
		}
		return []string{text + "."}
	case !r.Kept && r.How == git.Discard && !r.State.Empty(r.Tree):
		lines = []string{fmt.Sprintf("Discarded the work tree %s with %s.", place, contents(r))}
		if r.Branch && r.State.Commits > 0 && r.State.On == r.Tree.Branch {
			lines = append(lines, "  The commits are still on branch "+r.Tree.Branch+".")
		}
		return append(lines, recovery(r)...)
	case !r.Kept && r.Branch:
		return []string{fmt.Sprintf("The work tree had nothing new in it and was removed; branch %s stays.",
			r.Tree.Branch)}
	case !r.Kept:
		return []string{"The work tree had nothing in it and was removed, with its branch."}
	}
	lines = []string{work + " was kept: " + contents(r) + "."}
	switch {
	case r.Merged != "":
		lines = append(lines, "  merged into "+r.Merged+", but not removed: "+r.Why)
	case r.Why != "" && r.How == git.Merge:
		lines = append(lines, "  not merged: "+r.Why)
	case r.Why != "":
		lines = append(lines, "  not removed: "+r.Why)
	}
	return append(lines, hints(r, place)...)
}

// hints are the commands with which a person continues with what a run left.
func hints(r engine.TreeReport, place string) (lines []string) {
	s, git := r.State, gitOf(r)
	if s.Files > 0 {
		lines = append(lines, "  look:   git -C "+humanize.ShellWord(place)+" status")
	}
	if s.Commits > 0 {
		tip := cmp.Or(s.On, shortCommit(s.Head)) // the action may have left the branch
		if s.Gone {
			tip = r.Tree.Branch
		}
		into := cmp.Or(r.Tree.Into, shortCommit(r.Tree.Base))
		if tip == r.Tree.Branch || s.Tip == "" {
			lines = append(lines, fmt.Sprintf("  look:   %s log --stat %s..%s", git, into, tip))
		} else {
			lines = append(lines, fmt.Sprintf("  look:   %s log --stat %s %s --not %s", git, tip, r.Tree.Branch, into))
		}
		lines = append(lines, fmt.Sprintf("  merge:  %s merge %s", git, tip))
	}
	remove := git + " worktree remove "
	switch {
	case s.Gone:
		remove = git + " worktree prune"
	case s.Locked:
		remove += "--force --force " + humanize.ShellWord(place)
	case s.Files > 0 || s.Submodules:
		remove += "--force " + humanize.ShellWord(place)
	default:
		remove += humanize.ShellWord(place)
	}
	if r.Tree.New && s.Tip != "" {
		flag := " -d "
		if s.Commits > 0 {
			flag = " -D "
		}
		remove += " && " + git + " branch" + flag + r.Tree.Branch
	}
	return append(lines, "  remove: "+remove)
}

// recovery says how commits that were discarded can be had back, until git clears up.
func recovery(r engine.TreeReport) (lines []string) {
	s := r.State
	if s.Commits == 0 {
		return nil
	}
	back := func(branch, tip string) {
		lines = append(lines,
			fmt.Sprintf("  Until git collects garbage, the commits can be restored: %s branch %s %.12s", gitOf(r),
				branch, tip))
	}
	if !r.Branch && s.Tip != "" && s.Tip != r.Tree.Base {
		back(r.Tree.Branch, s.Tip)
	}
	if s.On == "" && s.Head != s.Tip && s.Head != r.Tree.Base {
		back(r.Tree.Branch+"-detached", s.Head)
	}
	if s.On != "" && s.On != r.Tree.Branch {
		lines = append(lines, "  Branch "+s.On+" stays.")
	}
	return lines
}

// shortCommit is a commit as people write it.
func shortCommit(commit string) string { return fmt.Sprintf("%.12s", commit) }

// gitOf is how the git of the main checkout is called from where the person is.
func gitOf(r engine.TreeReport) string {
	if project.IsIn(r.Project.Cwd, r.Project.Dir) {
		return "git"
	}
	return "git -C " + humanize.ShellWord(r.Project.Dir)
}

// contents says what is in the tree.
func contents(r engine.TreeReport) string {
	var parts []string
	s := r.State
	if s.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%s ahead of %s", humanize.Count(s.Commits, "commit"),
			cmp.Or(r.Tree.Into, shortCommit(r.Tree.Base))))
	}
	if s.Files > 0 {
		parts = append(parts, fmt.Sprintf("%s changed and not committed (%s)", humanize.Count(s.Files, "file"),
			s.Names()))
	}
	if s.On != r.Tree.Branch && !s.Gone {
		parts = append(parts, cmp.Or(s.On, "a detached HEAD")+" checked out")
	}
	if s.Submodules {
		parts = append(parts, "submodules")
	}
	if s.Nested {
		parts = append(parts, "the work tree of a sub-loop")
	}
	if len(parts) == 0 {
		return "nothing new in it"
	}
	return humanize.And(parts)
}

// TreeEnd returns the result of a work tree.
func TreeEnd(r engine.TreeReport) api.TreeEnd {
	o := api.TreeEnd{
		Event: "worktree_end", Instance: string(r.Run), Worktree: r.Tree.Path, Branch: r.Tree.Branch, Kept: r.Kept,
		Merged:  api.Text(r.Merged),
		Commits: r.State.Commits, Changed: r.State.Files, Why: api.Text(r.Why),
	}
	if r.Err != nil {
		o.Error = humanize.OneLine(r.Err)
	}
	return o
}
