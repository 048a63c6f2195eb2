package simtest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"loops/fsm"
)

// folder is where the actions of a world run, if not in a work tree.
const folder = "/w"

// A repository is what git knows of the files of a world. Nothing but a merge commits anything.
type repository struct {
	branches map[string]map[string]string // what the last commit of each has, by path
	base     map[string]map[string]string // what it began with
	merged   map[string]bool              // HEAD has its last commit
	trees    map[string]string            // the branch that a work tree is of, by its folder
	head     map[string]string            // what the last commit of the folder of the run has
}

func newRepository() *repository {
	return &repository{
		map[string]map[string]string{},
		map[string]map[string]string{},
		map[string]bool{},
		map[string]string{},
		map[string]string{},
	}
}

// at returns what is committed of a folder.
func (g *repository) at(dir string) map[string]string {
	if branch, ok := g.trees[dir]; ok {
		return g.branches[branch]
	}
	return g.head
}

// treeOf returns the folder of the work tree of a branch; "" = it has none.
func (g *repository) treeOf(branch string) string {
	for dir, b := range g.trees {
		if b == branch {
			return dir
		}
	}
	return ""
}

// word finds what a script of the machine sets a variable to; "" = nothing.
func word(script, name string) string {
	_, rest, _ := strings.Cut(script, "\n"+name+"=")
	if rest == "" {
		_, rest, _ = strings.Cut(script, " "+name+"=")
	}
	return rest[:max(0, strings.IndexAny(rest, " \n"))]
}

// git does what the machine asks of git. It takes a moment. The run may end before that was done, or after it.
func (w runner) git(ctx context.Context, a fsm.Action) (fsm.Result, error) {
	w.mu.Lock()
	w.steps++
	d := time.Duration(1 + w.hash(a.Git, time.Since(w.begun), "before")%90_000_000)
	w.mu.Unlock()
	if !moment(ctx, d) {
		return fsm.Result{ExitCode: -15}, nil
	}
	w.mu.Lock()
	out, bad := w.gitDoes(a)
	w.mu.Unlock()
	if !moment(ctx, d) {
		return fsm.Result{ExitCode: -15}, nil
	}
	if bad != "" {
		return fsm.Result{ExitCode: 1, Stderr: bad, Duration: d}, nil
	}
	return fsm.Result{Stdout: out, Duration: d}, nil
}

// moment lets time pass, and reports false where ctx ended meanwhile.
func moment(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// gitDoes is one script: what it prints, or why it fails. The caller holds the lock.
func (w *World) gitDoes(a fsm.Action) (out, bad string) {
	g, branch, tree := w.repo, word(a.Text, "branch"), a.Tree
	doing, of, _ := strings.Cut(a.Git, " branch ")
	switch doing {
	case "making":
		if branch = of; g.branches[branch] == nil {
			g.make(branch, g.at(a.Dir))
		}
	case "making the work tree of":
		return w.gitAttach(a, branch, word(a.Text, "new"))
	case "looking for the work tree of":
		if g.trees[tree] == "" {
			w.checkOut(tree, of)
		}
	case "removing the work tree of":
		if g.trees[tree] != "" {
			return "", w.gitRemove(tree)
		}
	case "merging":
		return w.gitMerge(a.Dir, tree, branch)
	case "looking at the work tree of":
		return w.gitLeave(a.Dir, tree, branch)
	default:
		w.fault("git is asked for what no simulation knows: " + a.Git)
	}
	return "", ""
}

func (g *repository) make(branch string, from map[string]string) {
	g.branches[branch], g.base[branch], g.merged[branch] = maps.Clone(from), maps.Clone(from), true
}

func (w *World) checkOut(tree, branch string) {
	w.repo.trees[tree] = branch
	w.files[tree] = maps.Clone(w.repo.branches[branch])
}

func (w *World) gitAttach(a fsm.Action, branch, dir string) (out, bad string) {
	g := w.repo
	if g.branches[branch] == nil { // a user made it
		g.make(branch, nil)
	}
	if w.hash(place(a), branch, "refused")%9 == 0 {
		return "", "fatal: git refuses"
	}
	switch kept := g.treeOf(branch); kept {
	case "":
	case dir:
		return "", ""
	default:
		return kept, ""
	}
	w.checkOut(dir, branch)
	return "", ""
}

// gitRemove takes a work tree away in which all is committed.
func (w *World) gitRemove(tree string) (bad string) {
	if !maps.Equal(w.in(tree), w.repo.branches[w.repo.trees[tree]]) {
		return "not committed: " + treeName(w.in(tree))
	}
	delete(w.repo.trees, tree)
	delete(w.files, tree)
	return ""
}

func (w *World) gitMerge(dir, tree, branch string) (commit, bad string) {
	g := w.repo
	if g.branches[branch] == nil {
		return "", ""
	}
	if g.trees[tree] != "" && !maps.Equal(g.branches[branch], w.in(tree)) {
		g.branches[branch], g.merged[branch] = maps.Clone(w.in(tree)), false
	}
	if g.merged[branch] {
		return "tip", ""
	}
	was := g.at(dir)
	now, base, tip := maps.Clone(was), g.base[branch], g.branches[branch]
	if now == nil {
		now = map[string]string{}
	}
	for _, path := range slices.Sorted(maps.Keys(tip)) {
		switch {
		case tip[path] == base[path]:
		case was[path] != base[path] && was[path] != tip[path]:
			return "", "conflicts in " + path
		case w.in(dir)[path] != was[path]:
			return "", "it would be overwritten: " + path
		default:
			now[path] = tip[path]
		}
	}
	for path, text := range now {
		if was[path] != text {
			w.in(dir)[path] = text
		}
	}
	if of, ok := g.trees[dir]; ok {
		g.branches[of], g.merged[of] = now, false
	} else {
		g.head = now
	}
	g.merged[branch] = true
	return "commit", ""
}

func (w *World) gitLeave(dir, tree, branch string) (path, bad string) {
	g := w.repo
	if g.branches[branch] == nil {
		return "", ""
	}
	if g.trees[tree] != "" {
		if !g.merged[branch] || !maps.Equal(w.in(tree), g.branches[branch]) {
			return tree, ""
		}
		delete(g.trees, tree)
		delete(w.files, tree)
	}
	if !g.merged[branch] {
		return tree, ""
	}
	delete(g.branches, branch)
	return "", ""
}

// left lists the files of all folders at the end, without the times in the names of work trees.
func (w *World) left() string {
	var b strings.Builder
	b.WriteString(treeName(w.in("")))
	var trees []string
	for dir, branch := range w.repo.trees {
		name := timesOf.ReplaceAllString(path.Base(dir), "")
		trees = append(trees, fmt.Sprintf("%s of %s:\n%s", name, branch, treeName(w.in(dir))))
	}
	slices.Sort(trees)
	b.WriteString(strings.Join(trees, ""))
	fmt.Fprintf(&b, "committed:\n%s", treeName(w.repo.head))
	for _, branch := range slices.Sorted(maps.Keys(w.repo.branches)) {
		fmt.Fprintf(&b, "in %s:\n%s", branch, treeName(w.repo.branches[branch]))
	}
	return b.String()
}
