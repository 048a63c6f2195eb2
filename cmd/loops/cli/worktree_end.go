package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/worktree"
	"loops/persistence"
)

// A treeReport is what a person is told about the work tree of a run that ended or stopped.
type treeReport struct {
	worktree.Report
	project *project.Project
	tree    worktree.Tree
	run     persistence.ID
	how     string
	stays   bool // the run can be resumed, and goes on in it
	err     error
}

// leave lets go of the work tree of a run that can be resumed, before somebody else may have the run.
func (t *runTree) leave(ctx context.Context, p *project.Project, id persistence.ID, o fsm.Outcome) {
	if t == nil || t.hold == nil || !persistence.StatusOf(o).CanGoOn(o.Limited) {
		return
	}
	git, done := t.app.git(p, string(id))
	defer done()
	r := t.report(p, id)
	r.stays = true
	r.State, r.err = t.hold.State(ctx, git)
	r.Kept = !r.State.Gone
	t.left = &r
	t.hold.Release()
}

// finish ends the work tree of a run that has ended for good, and says what became of it, or stays in it.
func (t *runTree) finish(ctx context.Context, p *project.Project, id persistence.ID, o fsm.Outcome, print printer) {
	switch {
	case t == nil:
	case t.guest != nil:
		_ = t.guest.Close() // nothing was written
	case t.hold == nil:
	case t.left != nil:
		print.tree(*t.left)
	default:
		defer t.hold.Release()
		git, done := t.app.git(p, string(id))
		defer done()
		r := t.report(p, id)
		r.Report, r.err = t.hold.End(ctx, git, t.end, persistence.StatusOf(o) == persistence.Completed)
		print.tree(r)
	}
}

func (t *runTree) report(p *project.Project, id persistence.ID) treeReport {
	return treeReport{project: p, tree: t.hold.Tree, run: id, how: t.end}
}

// finishTrees finishes what processes that were killed left undone about work trees.
func (a *app) finishTrees(ctx context.Context, p *project.Project, store persistence.Store, print func(treeReport)) error {
	git, done := a.git(p, "")
	defer done()
	left, runs, err := worktree.Unfinished(ctx, git, p.Dir)
	for i, h := range left {
		id := persistence.ID(runs[i])
		found, e := store.Runs(ctx, persistence.Query{ID: id})
		if e == nil && len(found) == 1 && !project.Alive(found[0]) && !found[0].Resumable && found[0].Status != "" {
			r := treeReport{project: p, tree: h.Tree, run: id, how: worktree.Keep}
			if t := a.treeOf(p, found[0]); t != nil {
				r.how = t.end
			}
			if _, e := endMarked(ctx, p, gitMark(string(id))+fsm.AttemptMark(1, 1)); e != nil {
				r.err = e
			} else {
				r.Report, r.err = h.End(ctx, git, r.how, found[0].Status == persistence.Completed)
			}
			print(r)
		}
		h.Release()
	}
	return err
}

// lines says it in sentences. The first is enough for who wants to be told little; it is "" where nothing came of the tree.
func (r treeReport) lines() (lines []string) {
	place := r.project.Short(r.tree.Path)
	work := fmt.Sprintf("Work tree %s (branch %s)", place, r.tree.Branch)
	switch {
	case r.err != nil:
		return []string{work + " was left as it is: " + oneLine(r.err), "  look at it: git -C " + quote(place) + " status"}
	case r.State.Gone && !r.Branch:
		return []string{work + " is gone, and so is its branch."}
	case r.State.Gone:
		lines = []string{work + " is gone, and what was not committed there with it. The branch stays, with " + r.contents() + "."}
		return append(lines, r.hints(place)...)
	case r.stays:
		return []string{work + " stays for the run, with " + r.contents() + "."}
	case r.Merged != "" && !r.Kept:
		text := fmt.Sprintf("Merged %s of branch %s into %s, and removed the work tree", phrase.Count(r.State.Commits, "commit"), r.tree.Branch, r.Merged)
		if !r.Branch {
			text += " and the branch"
		}
		return []string{text + "."}
	case !r.Kept && r.how == worktree.Discard && !r.State.Empty(r.tree):
		lines = []string{fmt.Sprintf("Discarded the work tree %s with %s.", place, r.contents())}
		if r.Branch && r.State.Commits > 0 && r.State.On == r.tree.Branch {
			lines = append(lines, "  The commits are still on branch "+r.tree.Branch+".")
		}
		return append(lines, r.recovery()...)
	case !r.Kept && r.Branch:
		return []string{fmt.Sprintf("The work tree had nothing new in it and was removed; branch %s stays.", r.tree.Branch)}
	case !r.Kept:
		return []string{"The work tree had nothing in it and was removed, with its branch."}
	}
	lines = []string{work + " was kept: " + r.contents() + "."}
	switch {
	case r.Merged != "":
		lines = append(lines, "  merged into "+r.Merged+", but not removed: "+r.Why)
	case r.Why != "" && r.how == worktree.Merge:
		lines = append(lines, "  not merged: "+r.Why)
	case r.Why != "":
		lines = append(lines, "  not removed: "+r.Why)
	}
	return append(lines, r.hints(place)...)
}

// hints are the commands with which a person goes on with what a run left.
func (r treeReport) hints(place string) (lines []string) {
	s, git := r.State, r.git()
	if s.Files > 0 {
		lines = append(lines, "  look:   git -C "+quote(place)+" status")
	}
	if s.Commits > 0 {
		tip := cmp.Or(s.On, short(s.Head)) // the action may have left the branch
		if s.Gone {
			tip = r.tree.Branch
		}
		into := cmp.Or(r.tree.Into, short(r.tree.Base))
		if tip == r.tree.Branch || s.Tip == "" {
			lines = append(lines, fmt.Sprintf("  look:   %s log --stat %s..%s", git, into, tip))
		} else {
			lines = append(lines, fmt.Sprintf("  look:   %s log --stat %s %s --not %s", git, tip, r.tree.Branch, into))
		}
		lines = append(lines, fmt.Sprintf("  merge:  %s merge %s", git, tip))
	}
	remove := git + " worktree remove "
	switch {
	case s.Gone:
		remove = git + " worktree prune"
	case s.Locked:
		remove += "--force --force " + quote(place)
	case s.Files > 0 || s.Submodules:
		remove += "--force " + quote(place)
	default:
		remove += quote(place)
	}
	if r.tree.New && s.Tip != "" {
		flag := " -d "
		if s.Commits > 0 {
			flag = " -D "
		}
		remove += " && " + git + " branch" + flag + r.tree.Branch
	}
	return append(lines, "  remove: "+remove)
}

// recovery says how commits that were discarded can be had back, until git clears up.
func (r treeReport) recovery() (lines []string) {
	s := r.State
	if s.Commits == 0 {
		return nil
	}
	back := func(branch, tip string) {
		lines = append(lines, fmt.Sprintf("  Until git clears up, the commits can be had back: %s branch %s %.12s", r.git(), branch, tip))
	}
	if !r.Branch && s.Tip != "" && s.Tip != r.tree.Base {
		back(r.tree.Branch, s.Tip)
	}
	if s.On == "" && s.Head != s.Tip && s.Head != r.tree.Base {
		back(r.tree.Branch+"-detached", s.Head)
	}
	if s.On != "" && s.On != r.tree.Branch {
		lines = append(lines, "  Branch "+s.On+" stays.")
	}
	return lines
}

// short is a commit as people write it.
func short(commit string) string { return fmt.Sprintf("%.12s", commit) }

// git is how the git of the main checkout is called from where the person is.
func (r treeReport) git() string {
	if project.IsIn(r.project.Cwd, r.project.Dir) {
		return "git"
	}
	return "git -C " + quote(r.project.Dir)
}

// contents says what is in the tree.
func (r treeReport) contents() string {
	var parts []string
	s := r.State
	if s.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%s ahead of %s", phrase.Count(s.Commits, "commit"), cmp.Or(r.tree.Into, short(r.tree.Base))))
	}
	if s.Files > 0 {
		parts = append(parts, fmt.Sprintf("%s changed and not committed (%s)", phrase.Count(s.Files, "file"), some(s)))
	}
	if s.On != r.tree.Branch && !s.Gone {
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
	return phrase.And(parts)
}

// some names files that changed.
func some(s worktree.State) string {
	text := strings.Join(s.Some, ", ")
	if s.Files > len(s.Some) {
		text += ", ..."
	}
	return text
}

// object is the same for a program.
func (r treeReport) object() *value.Map {
	m := value.NewMap("event", "worktree_end", "instance_id", string(r.run), "worktree", r.tree.Path, "branch", r.tree.Branch, "kept", r.Kept,
		"merged_into", orNull(r.Merged), "commits", int64(r.State.Commits), "changed_files", int64(r.State.Files), "why", orNull(r.Why))
	if r.err != nil {
		m.Set("error", oneLine(r.err))
	}
	return m
}

// tellTrees says of runs whose records were removed which work trees they leave.
func (a *app) tellTrees(ctx context.Context, p *project.Project, gone []removal) {
	a.treesLeft(ctx, p, gone, func(lines []string) { sayLines(a.Err, "loops: "+blockOf("", lines)) })
}

// treesLeft says of runs whose records were removed which work trees they leave, and what is in them: those are never removed
// with the records.
func (a *app) treesLeft(ctx context.Context, p *project.Project, gone []removal, tell func(lines []string)) {
	for _, g := range gone {
		t := a.treeOf(p, g.run)
		if t == nil || t.of != "" {
			continue
		}
		if m, err := worktree.ReadMark(t.tree.Path); err != nil || m.Run != string(g.run.ID) {
			continue // there is none, or another run has it
		}
		git, done := a.git(p, "")
		r := treeReport{project: p, tree: t.tree, run: g.run.ID, how: t.end}
		r.State, r.err = t.tree.State(ctx, git)
		r.Kept = true
		done()
		tell(r.lines())
	}
}
