package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ignored has git leave the work trees alone in the checkout they lie in.
const ignored = "# Work trees of git, each with files of its own.\n*\n"

// Make makes the work tree of a run, or continues in it. begun says that actions of the run have been in it:
// then one that is gone is not made again, because it is not known what was in it. A *Refusal says what to do.
// What a Make that was killed left half done, the next one of the same run does again.
func (t Tree) Make(ctx context.Context, git Run, run string, begun bool) (*Hold, error) {
	if _, err := t.finish(ctx, git); err != nil {
		return nil, err
	}
	m, err := ReadMark(t.Path)
	switch {
	case err != nil:
		return nil, err
	case m.Run == run, m.Run != "" && m.Run == t.Before:
		return t.hold(run)
	// a person made it again, or the writer of its mark was killed
	case m.Run == "" && admin(t.Path) != "" && (begun || t.Before != ""):
		return t.hold(run)
	case m.Run != "":
		return nil, refuse("the work tree %s is that of run %s now", t.Path, m.Run)
	case begun:
		return nil, t.Gone(ctx, git)
	}
	if err := t.clear(ctx, git); err != nil {
		return nil, err
	}
	if err := ignore(filepath.Dir(t.Path)); err != nil {
		return nil, err
	}
	if err := t.add(ctx, git); err != nil {
		return nil, err
	}
	return t.hold(run)
}

// Free refuses what is there already of the tree of a run that begins. The id of a run whose records were
// removed can be had again within its second, while its work tree still exists.
func (t Tree) Free(ctx context.Context, git Run) error {
	if t.Before != "" {
		return nil
	}
	if _, err := os.Lstat(t.Path); err == nil {
		return refuse("%s already exists, from a run whose records were removed; try again", t.Path)
	}
	if !t.New {
		return nil
	}
	tip, err := commit(ctx, git, t.Project(), "refs/heads/"+t.Branch)
	if err != nil || tip == "" {
		return err
	}
	return refuse("another process made the branch %s just now; try again", t.Branch)
}

// Gone says that the work tree is gone and how to have it again; nil if it is there.
func (t Tree) Gone(ctx context.Context, git Run) error {
	lost := t.unlinked()
	if lost != nil {
		return refuse("%v. Nothing in it was touched. To repair it: %s", lost, lost.Repair())
	}
	if admin(t.Path) != "" {
		return nil
	}
	tip, err := commit(ctx, git, t.Project(), "refs/heads/"+t.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return refuse("the work tree %s is gone, and so is its branch %s: what the run changed is lost, unless git "+
			"fsck --lost-found has it. To continue all the same from commit %.12s: git -C %s worktree add "+
			"-f -b %s %s %s",
			t.Path, t.Branch, t.Base, word(t.Project()), t.Branch, word(t.Path), t.Base)
	}
	return refuse("the work tree %s is gone, and what was not committed there with it. To continue with what its "+
		"branch has: git -C %s worktree add -f %s %s",
		t.Path, word(t.Project()), word(t.Path), t.Branch)
}

// add has git make the branch, if need be, and check it out. Where that fails nothing of it is left.
func (t Tree) add(ctx context.Context, git Run) (err error) {
	project := t.Project()
	tip, err := commit(ctx, git, project, "refs/heads/"+t.Branch)
	if err != nil {
		return err
	}
	made := false
	if tip == "" {
		if _, err := git(ctx, project, "branch", "--no-track", t.Branch, t.Base); err != nil {
			return err
		}
		made = t.New
	}
	_, err = git(ctx, project, "worktree", "add", "-q", t.Path, t.Branch)
	if err == nil || ctx.Err() != nil {
		return err // the next Make clears up
	}
	ctx = context.WithoutCancel(ctx)
	err = errors.Join(err, t.clear(ctx, git))
	if made {
		_, e := git(ctx, project, "update-ref", "-d", "refs/heads/"+t.Branch, t.Base)
		err = errors.Join(err, e)
	}
	return err
}

// clear removes what there is of a tree, also of one that is half made or half removed.
func (t Tree) clear(ctx context.Context, git Run) error {
	_, unknown := git(ctx, t.Project(), "worktree", "remove", "-f", "-f", t.Path)
	if unknown != nil && !isGitError(unknown) {
		return unknown
	}
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(t.Path); err != nil || unknown == nil {
		return err
	}
	_, err := git(ctx, t.Project(), "worktree", "prune")
	return err
}

// ignore makes the folder of work trees.
func ignore(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // a person may have chosen otherwise
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(ignored)
	return errors.Join(err, f.Close())
}
