package git

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
	"loops/internal/humanize"
)

// mergeWait is how often a run that ends asks, for a second each, whether another has merged.
const mergeWait = 15 * 60

// A MergeReport reports the result of a merge.
type MergeReport struct {
	State    TreeState // what was in the tree before
	Done     bool      // the branch of the main checkout has the commits, or there were none
	Conflict bool      // git found conflicts
	Why      string    // why it was not made; "" = it was
}

// Merge merges the commits of the tree into the branch of the main checkout; the tree stays as it is. It can be
// called again.
func (h *Hold) Merge(ctx context.Context, git Run) (r MergeReport) {
	var err error
	if r.State, err = h.State(ctx, git); err == nil {
		r.Why, r.Conflict, err = h.mergeAlone(ctx, git, r.State)
	}
	if err != nil {
		r.Why = humanize.OneLine(err)
	}
	r.Done = r.Why == ""
	return r
}

// mergeAlone merges while no other run is in the tree.
func (h *Hold) mergeAlone(ctx context.Context, git Run, s TreeState) (why string, conflict bool, err error) {
	if s.Unlinked != nil {
		return s.Unlinked.Error(), false, nil
	}
	if s.Gone {
		return "its work tree is gone", false, nil
	}
	door, shut, err := door(h.Path, syscall.LOCK_EX)
	if err != nil {
		return "", false, err
	}
	if shut {
		return "another run is in it", false, nil
	}
	defer door.Close()
	switch {
	case s.Locked:
		return "it is locked (git worktree unlock)", false, nil
	case s.Empty(h.Tree):
		return "", false, nil
	}
	return h.merge(ctx, git, s)
}

// merge merges the tree's commits into the branch of the main checkout, or explains why it does not. Of runs that
// end at once one merges at a time.
func (h *Hold) merge(ctx context.Context, git Run, s TreeState) (why string, conflict bool, err error) {
	if why := h.unfit(s); why != "" {
		return why, false, nil
	}
	project := h.Project()
	// which has the index and the merge of this checkout
	dir, err := git(ctx, project, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", false, err
	}
	turn, err := os.OpenFile(filepath.Join(dir, "loops-merge"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", false, err
	}
	defer disk.Release(turn) //nolint:errcheck // what it says counts only while git merges
	for waited := 0; !lock(turn); waited++ {
		if ctx.Err() != nil {
			return "", false, context.Cause(ctx)
		}
		if waited == mergeWait {
			return "another run has been merging for a long time", false, nil
		}
	}
	if err := takeBack(ctx, git, project, turn); err != nil {
		return "", false, err
	}
	if why, err := h.unready(ctx, git, project); why != "" || err != nil {
		return why, false, err
	}
	if _, err := turn.WriteAt([]byte(s.Tip), 0); err != nil {
		return "", false, err
	}
	defer turn.Truncate(0) //nolint:errcheck // the mark counts only while git is in the middle of that merge
	// What the config of the repository says of merges (branch.NAME.mergeOptions) must not leave the commits out.
	command := []string{
		"merge", "-q", "--no-edit", "--commit", "--no-squash", "-m",
		"Merge branch '" + h.Branch + "' of run " + h.mark.Run, "-m", "Loops-Run: " + h.mark.Run,
		"refs/heads/" + h.Branch,
	}
	for range 20 {
		if _, err = git(ctx, project, command...); !isGitError(err) || !strings.Contains(err.Error(), "index.lock") {
			break
		}
		// an editor, or a shell that shows the state of the repository, has the index
		time.Sleep(250 * time.Millisecond)
	}
	if isGitError(err) || ctx.Err() != nil { // a merge that was stopped may be half done
		return h.undo(context.WithoutCancel(ctx), git, project, s.Tip, err)
	}
	if err != nil {
		return "", false, err
	}
	if _, err := git(ctx, project, "merge-base", "--is-ancestor", s.Tip, "refs/heads/"+h.Into); err != nil {
		return "git merged it, but " + h.Into + " does not have its commits", false, notRefused(err)
	}
	return "", false, nil
}

// takeBack aborts the merge in which a run was killed, with git: the one that turn, the file of the lock, names. A
// merge with anything in it that git did not put there is left to the person who did.
func takeBack(ctx context.Context, git Run, project string, turn *os.File) error {
	begun, err := io.ReadAll(turn)
	if err != nil || len(begun) == 0 {
		return err
	}
	merging, err := commit(ctx, git, project, "MERGE_HEAD")
	if err != nil || merging != string(begun) {
		return err
	}
	changed, err := git(ctx, project, "diff", "--name-only", "--no-relative", "--ignore-submodules=none")
	if err != nil || changed != "" {
		return notRefused(err)
	}
	index, err := git(ctx, project, "write-tree")
	if err != nil {
		return notRefused(err)
	}
	made, err := git(ctx, project, "merge-tree", "--write-tree", "HEAD", merging)
	if err == nil && index == made {
		_, err = git(ctx, project, "merge", "--abort")
	}
	return notRefused(err) // of a merge that is still there unready tells
}

// unfit explains why what is in the tree is not to be merged.
func (h *Hold) unfit(s TreeState) string {
	switch {
	case s.Files > 0:
		return fmt.Sprintf("%s not committed, and only commits can be merged", files(s.Files, "is", "are"))
	case s.On != h.Branch:
		return fmt.Sprintf("%s is checked out in it and no longer %s", orDetached(s.On), h.Branch)
	case s.Submodules:
		return "it has submodules, whose commits may exist only here"
	case s.Nested:
		return "a sub-loop left a work tree in it"
	}
	return ""
}

// unready explains why the main checkout cannot be merged into.
func (h *Hold) unready(ctx context.Context, git Run, project string) (why string, err error) {
	on, err := head(ctx, git, project)
	if err != nil {
		return "", err
	}
	merging, err := commit(ctx, git, project, "MERGE_HEAD")
	if err != nil {
		return "", err
	}
	dirty, err := git(ctx, project, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=none")
	switch {
	case err != nil:
		return "", err
	case on != h.Into:
		return fmt.Sprintf("the main checkout is at %s now, and the run began at %s", orDetached(on),
			orDetached(h.Into)), nil
	case merging != "":
		return "the main checkout is in the middle of a merge; end that (git merge --continue or --abort)", nil
	case dirty != "":
		return fmt.Sprintf("the main checkout has changes that are not committed (%s)", some(dirty)), nil
	}
	return "", nil
}

// undo takes back a merge of tip that git refused or stopped in, and explains why it did. The merge of another
// process is not touched.
func (h *Hold) undo(ctx context.Context, git Run, project, tip string, refused error) (why string, conflict bool,
	err error,
) {
	why = "git did not merge it: " + refused.Error()
	conflicts, err := git(ctx, project, "diff", "--name-only", "--diff-filter=U")
	if err != nil {
		return "", false, err
	}
	merging, err := commit(ctx, git, project, "MERGE_HEAD")
	if err != nil || merging != tip {
		return why, false, err
	}
	if conflicts != "" {
		conflict = true
		why = "there are conflicts with " + h.Into + " (" + some(conflicts) + ")"
	}
	if _, err := git(ctx, project, "merge", "--abort"); err != nil {
		return why + "; the merge was begun, and git could not take it back: " + err.Error(), conflict, notRefused(err)
	}
	return why, conflict, nil
}

// notRefused is an error that is not git's.
func notRefused(err error) error {
	if isGitError(err) {
		return nil
	}
	return err
}
