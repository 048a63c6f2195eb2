package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What can become of a tree when its run has ended.
const (
	Keep    = "keep"    // it stays, unless nothing is in it
	Merge   = "merge"   // what was committed is merged into the branch of the main checkout
	Discard = "discard" // it goes with all that is in it, and so does a branch that the run made
)

// A Report says what became of a tree.
type Report struct {
	State  State  // what was in it
	Kept   bool   // it is still there
	Merged string // the branch that has its commits now; "" = they were not merged
	Branch bool   // its branch is still there
	Why    string // it was kept although that was not asked for; "" = it was, or it is gone
}

// End does what is to become of the tree of a run that has ended for good. Nothing that was not committed is lost unless
// how is Discard. An End that was killed is finished by another. With an error the tree is kept.
func (h *Hold) End(ctx context.Context, git Git, how string, succeeded bool) (r Report, err error) {
	if r.State, err = h.State(ctx, git); err != nil {
		return r, err
	}
	r.Kept, r.Branch = !r.State.Gone, r.State.Tip != ""
	switch {
	case r.State.Gone:
		return r, nil
	case how == Discard:
	case r.State.Empty(h.Tree):
	case how == Merge:
		if r.Why, err = h.merge(ctx, git, r.State, succeeded); err != nil {
			return r, err
		}
		if r.Why != "" {
			return r, h.keep()
		}
		r.Merged = h.Into
	default:
		return r, h.keep()
	}
	if err := h.remove(ctx, git, r.State.Tip); err != nil {
		return r, err
	}
	r.Kept, r.Branch = false, !h.New
	return r, nil
}

func (h *Hold) keep() error {
	h.mark.Kept = true
	return h.write()
}

// merge merges the tree's commits into the branch of the main checkout, or says why it does not.
func (h *Hold) merge(ctx context.Context, git Git, s State, succeeded bool) (why string, err error) {
	project := h.Project()
	on, err := answer(git(ctx, project, "symbolic-ref", "-q", "--short", "HEAD"))
	if err != nil {
		return "", err
	}
	dirty, err := git(ctx, project, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=none")
	if err != nil {
		return "", err
	}
	switch {
	case !succeeded:
		return "the run did not succeed", nil
	case s.Files > 0:
		return fmt.Sprintf("%s not committed, and only commits can be merged", files(s.Files, "is", "are")), nil
	case s.On != h.Branch:
		return fmt.Sprintf("%s is checked out in it and no longer %s", orDetached(s.On), h.Branch), nil
	case s.Submodules:
		return "it has submodules, whose commits nobody else may have", nil
	case s.Nested:
		return "a sub-loop left a work tree in it", nil
	case on != h.Into:
		return fmt.Sprintf("the main checkout is at %s now, and the run began at %s", orDetached(on), orDetached(h.Into)), nil
	case dirty != "":
		return fmt.Sprintf("the main checkout has changes that are not committed (%s)", some(dirty)), nil
	}
	_, err = git(ctx, project, "merge", "-q", "--no-edit", "-m", "Merge branch '"+h.Branch+"' of run "+h.mark.Run, h.Branch)
	said, refused := errors.AsType[*GitError](err)
	if !refused {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	conflicts, err := git(ctx, project, "diff", "--name-only", "--diff-filter=U")
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, project, "merge", "--abort"); err != nil && !isGitError(err) { // without a merge there is none to end
		return "", err
	}
	if conflicts != "" {
		return "there are conflicts with " + h.Into + " (" + some(conflicts) + ")", nil
	}
	return "git did not merge it: " + said.Error(), nil
}

func orDetached(branch string) string {
	if branch == "" {
		return "a detached HEAD"
	}
	return branch
}

func files(n int, one, more string) string {
	if n == 1 {
		return "1 file " + one
	}
	return fmt.Sprintf("%d files %s", n, more)
}

// some is a list of git's on one line, at most three of its lines.
func some(list string) string {
	all := strings.Split(strings.TrimSpace(list), "\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	if len(all) > 3 {
		return strings.Join(all[:3], ", ") + ", ..."
	}
	return strings.Join(all, ", ")
}

// A removal is a tree that is going: what is left to do is told by a file beside it, so that half of it is never taken
// for files that were deleted in it.
type removal struct {
	Tree Tree   `json:"tree"`
	Tip  string `json:"tip,omitempty"`
}

func (t Tree) going() string { return t.Path + ".removing" }

// remove removes the tree, and its branch if the run made it and nobody has changed it since.
func (h *Hold) remove(ctx context.Context, git Git, tip string) error {
	b, err := json.Marshal(removal{h.Tree, tip})
	if err != nil {
		return err
	}
	if err := os.WriteFile(h.going(), b, 0o644); err != nil {
		return err
	}
	return h.finish(context.WithoutCancel(ctx), git)
}

// finish finishes a removal, if there is one to be finished.
func (t Tree) finish(ctx context.Context, git Git) error {
	b, err := os.ReadFile(t.going())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r removal
	if err == nil && json.Unmarshal(b, &r) != nil {
		return os.Remove(t.going()) // it was cut off before anything was removed
	}
	if err != nil {
		return err
	}
	r.Tree.Path = t.Path
	if err := r.Tree.clear(ctx, git); err != nil {
		return err
	}
	if r.Tree.New && r.Tip != "" {
		if _, err := git(ctx, t.Project(), "update-ref", "-d", "refs/heads/"+r.Tree.Branch, r.Tip); err != nil && !isGitError(err) {
			return err
		}
	}
	return os.Remove(t.going())
}

// Unfinished returns the trees of a project that no process uses and whose run has not said that it leaves them, after it
// has finished the removals that were cut short. Their holder is to release them.
func Unfinished(ctx context.Context, git Git, project string) (left []*Hold, runs []string, err error) {
	entries, err := os.ReadDir(filepath.Join(project, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(project, Folder, e.Name())
		if half, ok := strings.CutSuffix(path, ".removing"); ok {
			if busy(half) {
				continue
			}
			err = errors.Join(err, (Tree{Path: half}).finish(ctx, git))
			continue
		}
		m, e := ReadMark(path)
		if e != nil || m.Run == "" || m.Kept || busy(path) {
			continue
		}
		m.Tree.Path = path
		h, e := m.Tree.hold(m.Run)
		if e != nil {
			continue // somebody was quicker
		}
		left, runs = append(left, h), append(runs, m.Run)
	}
	return left, runs, err
}
