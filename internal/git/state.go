package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// A TreeState is what is in a work tree.
type TreeState struct {
	Gone       bool
	Unlinked   *UnlinkedError // its folder is still there, but git does not know it as this tree
	Commits    int            // that neither the commit it began with nor the branch of the main checkout has
	Files      int            // with changes that were not committed
	Some       []string       // of them, three at most, as git status has them
	Tip        string         // last commit of the branch; "" = there is no such branch any more
	On         string         // branch that is checked out; "" = none
	Head       string         // commit that is checked out
	Locked     bool           // a user locked it against removal (git worktree lock)
	Submodules bool           // some were checked out, and their commits lie in the tree's own folder
	Nested     bool           // a sub-loop left a work tree in it
}

// Names returns the names of files that changed, three at most.
func (s TreeState) Names() string {
	text := strings.Join(s.Some, ", ")
	if s.Files > len(s.Some) {
		text += ", ..."
	}
	return text
}

// Exists reports whether the folder of the tree is there.
func (s TreeState) Exists() bool { return !s.Gone || s.Unlinked != nil }

// Empty reports whether nothing would be lost if the tree were removed.
func (s TreeState) Empty(t Tree) bool {
	return s.Commits == 0 && s.Files == 0 && s.On == t.Branch && !s.Submodules && !s.Nested
}

// State looks at the work tree.
func (t Tree) State(ctx context.Context, git Run) (s TreeState, err error) {
	own := admin(t.Path)
	s.Unlinked = t.unlinked()
	if s.Gone = s.Unlinked != nil || own == ""; s.Gone {
		if s.Tip, err = commit(ctx, git, t.Project(), "refs/heads/"+t.Branch); err != nil || s.Tip == "" {
			return s, err
		}
		s.Commits, err = t.ahead(ctx, git, s.Tip)
		return s, err
	}
	status, err := git(ctx, t.Path, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return s, err
	}
	s.Files = lines(status)
	for line := range strings.Lines(status) {
		if len(s.Some) < 3 {
			s.Some = append(s.Some, strings.TrimSpace(line))
		}
	}
	if s.On, err = head(ctx, git, t.Path); err != nil {
		return s, err
	}
	if s.Tip, err = commit(ctx, git, t.Path, "refs/heads/"+t.Branch); err != nil {
		return s, err
	}
	if s.Head, err = commit(ctx, git, t.Path, "HEAD"); err != nil {
		return s, err
	}
	if s.Commits, err = t.ahead(ctx, git, s.Head, s.Tip); err != nil {
		return s, err
	}
	_, locked := os.Lstat(filepath.Join(own, "locked"))
	s.Locked = locked == nil
	modules, _ := os.ReadDir(filepath.Join(own, "modules")) // mostly there are none
	s.Submodules = len(modules) > 0
	nested, _ := os.ReadDir(filepath.Join(t.Dir(), TreesFolder))
	for _, e := range nested {
		s.Nested = s.Nested || e.IsDir()
	}
	return s, nil
}

// ahead counts the commits up to the tips ("" is none) that neither the commit the run began with nor the
// branch of the main checkout has.
func (t Tree) ahead(ctx context.Context, git Run, tips ...string) (int, error) {
	args := []string{"rev-list", "--count", "^" + t.Base}
	if t.Into != "" {
		into, err := commit(ctx, git, t.Project(), "refs/heads/"+t.Into)
		if err != nil {
			return 0, err
		}
		if into != "" {
			args = append(args, "^"+into)
		}
	}
	for _, tip := range tips {
		if tip != "" {
			args = append(args, tip)
		}
	}
	n, err := git(ctx, t.Project(), args...)
	return number(n), err
}

// word quotes a word for a shell where it needs it.
func word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
