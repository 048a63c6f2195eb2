package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// What can become of a tree when its run has ended.
const (
	Keep    = "keep"    // it stays, unless nothing is in it
	Merge   = "merge"   // what was committed is merged into the branch of the main checkout
	Discard = "discard" // it goes with all that is in it, and so does a branch that the run made
)

// A TreeReport reports the result of a tree.
type TreeReport struct {
	State  TreeState // what was in it
	Kept   bool      // it is still there
	Merged string    // the branch that has its commits now; "" = they were not merged
	Branch bool      // its branch is still there
	Why    string    // it was kept although that was not asked for; "" = it was, or it is gone
}

// End does what is to become of the tree of a run that has finished. Nothing that was not committed is lost
// unless how is Discard. An End that was killed is finished by another. With an error the tree is kept. merged
// is the result of the merge where how is Merge; nil = the run did not succeed, so that none was made.
func (h *Hold) End(ctx context.Context, git Run, how string, merged *MergeReport) (r TreeReport, err error) {
	if r.State, err = h.State(ctx, git); err != nil {
		return r, err
	}
	r.Kept, r.Branch = r.State.Exists(), r.State.Tip != ""
	if merged != nil && merged.Done && merged.State.Commits > 0 {
		r.Merged = h.Into
	}
	if r.State.Gone { // perhaps it was moved: its branch is left alone
		if r.State.Unlinked != nil {
			r.Why = r.State.Unlinked.Error()
		}
		return r, nil
	}
	door, shut, err := door(h.Path, syscall.LOCK_EX)
	if err != nil {
		return r, err
	}
	if !shut {
		defer door.Close()
	}
	switch {
	case shut:
		r.Why = "another run is in it"
		return r, h.keep()
	case r.State.Locked:
		r.Why = "it is locked (git worktree unlock)"
		return r, h.keep()
	case how == Discard:
	case r.Merged != "" && r.State.Empty(h.Tree):
		r.State = merged.State // which had the commits
	case r.State.Empty(h.Tree):
	case how == Merge:
		switch {
		case merged == nil:
			r.Why = "the run did not succeed"
		case merged.Done:
			r.Why = "something changed in it just now"
		default:
			r.Why = merged.Why
		}
		return r, h.keep()
	default:
		return r, h.keep()
	}
	if r.Kept, err = h.remove(ctx, git, r.State.Tip, how == Discard); err != nil {
		return r, err
	}
	if r.Kept {
		r.Why = "something changed in it just now"
		if r.State, err = h.State(ctx, git); err != nil {
			return r, err
		}
		return r, h.keep()
	}
	r.Branch = !h.New
	return r, nil
}

func (h *Hold) keep() error {
	h.mark.Kept = true
	return h.write()
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

// A removal is a tree that is going: what is left to do is in a file beside it, so that half of it is never taken
// for files that were deleted in it.
type removal struct {
	Tree    Tree   `json:"tree"`
	Tip     string `json:"tip,omitempty"`
	Discard bool   `json:"discard,omitempty"` // with what is in it
}

// goingSuffix is what its name ends in. (Sub-loops leave NAME.removing beside work trees of theirs.)
const goingSuffix = ".going"

func (t Tree) going() string { return t.Path + goingSuffix }

// remove removes the tree, and its branch if the run made it and it was not changed since.
func (h *Hold) remove(ctx context.Context, git Run, tip string, discard bool) (kept bool, err error) {
	b, err := json.Marshal(removal{h.Tree, tip, discard})
	if err != nil {
		return true, err
	}
	if err := os.WriteFile(h.going(), b, 0o644); err != nil {
		return true, err
	}
	return h.finish(context.WithoutCancel(ctx), git)
}

// finish finishes a removal, if there is one to be finished. A tree in which something was changed since it was
// found empty is kept: who was to remove it may have been killed, and a user have worked in it for hours.
func (t Tree) finish(ctx context.Context, git Run) (kept bool, err error) {
	b, err := os.ReadFile(t.going())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var r removal
	if err == nil && json.Unmarshal(b, &r) != nil {
		return true, os.Remove(t.going()) // it was cut off before anything was removed
	}
	if err != nil {
		return true, err
	}
	r.Tree.Path = t.Path
	if !r.Discard {
		if kept, err = r.changed(ctx, git); err != nil {
			return true, err
		} else if kept {
			return true, os.Remove(t.going())
		}
	}
	if err := r.Tree.clear(ctx, git); err != nil {
		return true, err
	}
	if r.Tree.New && r.Tip != "" {
		if _, err := git(ctx, t.Project(), "update-ref", "-d", "refs/heads/"+r.Tree.Branch, r.Tip); notRefused(err) !=
			nil {
			return false, err
		}
	}
	return false, os.Remove(t.going())
}

// changed reports whether there is more in the tree than when it was found empty. That files are missing is no change.
func (r removal) changed(ctx context.Context, git Run) (bool, error) {
	if admin(r.Tree.Path) == "" {
		return false, nil // it is half gone
	}
	on, err := head(ctx, git, r.Tree.Path)
	if err != nil || on != r.Tree.Branch {
		return true, err
	}
	status, err := git(ctx, r.Tree.Path, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return true, err
	}
	unignored := false // git began to remove it, and what was ignored is so no more
	for line := range strings.Lines(status) {
		unignored = unignored || strings.HasPrefix(line, " D ") && strings.HasSuffix(line, ".gitignore\n")
	}
	for line := range strings.Lines(status) {
		if !strings.HasPrefix(line, " D ") && !(unignored && strings.HasPrefix(line, "?? ")) {
			return true, nil
		}
	}
	return false, nil
}

// Unfinished returns the trees of a project that no process uses and whose run has not said that it leaves
// them, after it has finished the removals that were cut short. Their holder is to release them.
func Unfinished(ctx context.Context, git Run, project string) (left []*Hold, runs []string, err error) {
	entries, err := os.ReadDir(filepath.Join(project, TreesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		half, ok := strings.CutSuffix(filepath.Join(project, TreesFolder, e.Name()), goingSuffix)
		if ok && !busy(half) {
			_, e := (Tree{Path: half}).finish(ctx, git)
			err = errors.Join(err, e)
		}
	}
	for _, e := range entries {
		path := filepath.Join(project, TreesFolder, e.Name())
		m, e := ReadMark(path)
		if e != nil || m.Run == "" || m.Kept || busy(path) {
			continue
		}
		m.Tree.Path = path
		h, e := m.Tree.hold(m.Run)
		if e != nil {
			continue // Another process was quicker
		}
		left, runs = append(left, h), append(runs, m.Run)
	}
	return left, runs, err
}
