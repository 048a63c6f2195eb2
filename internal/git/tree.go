package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// mostTrees is how many work trees a run can have on one machine: one more for each process that was stopped in
// its tracks and holds its own still.
const mostTrees = 9

// A RefTree is the work tree of a run, which this process uses until Close. It is not safe for concurrent use.
type RefTree struct {
	Dir     string   // its top
	Run     string   // the id of the run
	Include []string // patterns of ignored files that travel, as git's :(glob); others do not
	Apart   []string // untracked paths that neither travel nor are named by Left, relative to Dir
	Saved   string   // ref of what was in the tree that is not in the recorded commit; "" = nothing

	m      *Mirror
	branch string
	held   *os.File // its lock

	epoch int64
	tip   string // of the ref on the remote, as far as this process knows; "" = there is none
	left  leftFiles
	kept  state  // that commit is the record of
	as    string // the commit that holds kept
}

// A state is what a commit holds of a work tree.
type state struct {
	tree  string // of all files
	index string // of those that the index names
	head  string
}

// place returns the n-th place for a tree of a run.
func (m *Mirror) place(run string, n int) *RefTree {
	name := refName(run)
	if n > 1 {
		name += fmt.Sprintf(".%d", n)
	}
	return &RefTree{Dir: filepath.Join(m.Trees, name), Run: run, m: m, branch: BranchPrefix + name}
}

// lock takes the lock of a tree; nil = another process has it.
func (t *RefTree) lock() (*os.File, error) {
	f, err := os.OpenFile(t.Dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	now, err := os.Stat(f.Name())
	if mine, e := f.Stat(); err != nil || e != nil || !os.SameFile(now, mine) {
		f.Close()
		return nil, nil // it was removed meanwhile
	}
	return f, nil
}

// Tree makes the work tree of a run, or brings the one that is there to what is recorded: the commit that
// the record of the run names, or for a run that begins the commit of a branch. What is in it beyond that is
// kept in the mirror (Saved); files that do not travel are left alone. A *NoCommitError means that the remote
// does not have the commit, an *AwayError that it could not be asked.
func (m *Mirror) Tree(ctx context.Context, run, commit string, include, apart []string) (*RefTree, error) {
	if err := m.fetch(ctx, run, commit); err != nil {
		return nil, err
	}
	for n := 1; n <= mostTrees; n++ {
		t := m.place(run, n)
		held, err := t.lock()
		if err != nil {
			return nil, err
		}
		if held == nil {
			continue
		}
		t.held, t.Include, t.Apart = held, include, apart
		if err := t.Reset(ctx, commit); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		return t, nil
	}
	return nil, fmt.Errorf("%d processes hold work trees of run %s on this machine; end those that were stopped",
		mostTrees, run)
}

// Close lets other processes use the tree.
func (t *RefTree) Close() error { return disk.Release(t.held) }

// Reset brings the tree to a commit, as Mirror.Tree does.
func (t *RefTree) Reset(ctx context.Context, commit string) error {
	want, err := t.read(ctx, commit)
	if err != nil {
		return err
	}
	var is state
	if _, err := os.Stat(filepath.Join(t.Dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		if err := t.add(ctx, want.head); err != nil {
			return err
		}
	} else if err != nil {
		return err
	} else {
		_ = os.Remove(filepath.Join(t.admin(), "index.lock")) // the process that made it is gone: the tree is ours
		if is, err = t.look(ctx); err != nil {
			return err
		}
		if is == want {
			t.kept, t.as = want, commit
			return nil
		}
		if is.tree != want.tree || is.head != want.head {
			if err := t.save(ctx, is); err != nil {
				return err
			}
		}
	}
	if err := t.fill(ctx, is, want, commit); err != nil {
		return err
	}
	t.kept, t.as = want, commit
	return nil
}

// fill writes the files, and then what the index names of them. Untracked files of what the tree is now go, too.
func (t *RefTree) fill(ctx context.Context, is, want state, commit string) error {
	if is.tree != is.index {
		if err := t.index(ctx, is.tree); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		// the hooks of the repository are not run
		{"update-ref", "refs/heads/" + t.branch, want.head},
		{"symbolic-ref", "HEAD", "refs/heads/" + t.branch},
		{"read-tree", "--reset", "-u", commit},
	} {
		if _, err := t.git(ctx, nil, args...); err != nil {
			return err
		}
	}
	for _, f := range []string{
		"MERGE_HEAD", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge",
		"rebase-apply",
	} {
		if err := os.RemoveAll(filepath.Join(t.admin(), f)); err != nil {
			return err
		}
	}
	if want.index != want.tree {
		return t.index(ctx, want.index)
	}
	return nil
}

// index has the index name the files of a tree of git.
func (t *RefTree) index(ctx context.Context, tree string) error {
	if _, err := t.git(ctx, nil, "read-tree", "--reset", tree); err != nil {
		return err
	}
	// 1: some differ
	if _, err := t.git(ctx, nil, "update-index", "-q", "--refresh"); err != nil && !isGitError(err) {
		return err
	}
	return nil
}

// add has git make the tree, without files yet. What a process that was killed left half made goes.
func (t *RefTree) add(ctx context.Context, head string) error {
	return t.m.alone(ctx, func() error {
		if err := os.RemoveAll(t.Dir); err != nil {
			return err
		}
		if _, err := t.m.git(ctx, t.m.Dir, nil, "worktree", "prune"); err != nil {
			return err
		}
		_, err := t.m.git(ctx, t.m.Dir, nil, "worktree", "add", "-q", "-f", "--no-checkout", "-B", t.branch, t.Dir,
			head)
		return err
	})
}

// left is the folder of refs in the mirror for what was in trees of a run and is not in what was recorded.
func left(run string) string { return "refs/loops-left/" + refName(run) }

// save keeps what is in the tree in the mirror, where a person finds it.
func (t *RefTree) save(ctx context.Context, is state) error {
	c, err := t.commit(ctx, is, "Files of a run that were not recorded when its process ended")
	if err != nil {
		return err
	}
	ref := left(t.Run) + "/" + time.Now().UTC().Format("20060102T150405.000000")
	if _, err := t.m.git(ctx, t.m.Dir, nil, "update-ref", ref, c); err != nil {
		return err
	}
	t.Saved = ref
	return nil
}

// read returns what a commit of files holds; of one that was made by others, its own files.
func (t *RefTree) read(ctx context.Context, commit string) (state, error) {
	tree, err := t.m.git(ctx, t.m.Dir, nil, "rev-parse", "--verify", "-q", commit+"^{tree}")
	if err != nil {
		return state{}, err
	}
	s := state{tree: tree, index: tree, head: commit}
	about, err := t.m.about(ctx, commit)
	if err != nil || about.run == "" {
		return s, err
	}
	if s.head, err = t.m.git(ctx, t.m.Dir, nil, "rev-parse", "--verify", "-q", commit+"^1"); err != nil {
		return state{}, err
	}
	if about.index != "" {
		s.index = about.index
	}
	return s, nil
}

// git runs git in the tree.
func (t *RefTree) git(ctx context.Context, env []string, args ...string) (string, error) {
	return t.m.git(ctx, t.Dir, env, args...)
}

// admin is git's own folder for the tree; "" if it has none.
func (t *RefTree) admin() string {
	b, err := os.ReadFile(filepath.Join(t.Dir, ".git"))
	if err != nil {
		return ""
	}
	dir, _ := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	return dir
}
