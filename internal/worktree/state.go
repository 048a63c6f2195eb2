package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// A State is what is in a work tree.
type State struct {
	Gone       bool
	Commits    int      // that neither the commit it began with nor the branch of the main checkout has
	Files      int      // with changes that were not committed
	Some       []string // of them, three at most, as git status has them
	Tip        string   // last commit of the branch; "" = there is no such branch any more
	On         string   // branch that is checked out; "" = none
	Submodules bool     // some were checked out, and their commits lie in the tree's own folder
	Nested     bool     // a sub-loop left a work tree in it
}

// Empty says whether nothing would be lost if the tree were removed.
func (s State) Empty(t Tree) bool {
	return s.Commits == 0 && s.Files == 0 && s.On == t.Branch && !s.Submodules && !s.Nested
}

// State looks at the work tree.
func (t Tree) State(ctx context.Context, git Git) (s State, err error) {
	own := admin(t.Path)
	if own == "" {
		s.Gone = true
		s.Tip, err = commit(ctx, git, t.Project(), "refs/heads/"+t.Branch)
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
	if s.On, err = answer(git(ctx, t.Path, "symbolic-ref", "-q", "--short", "HEAD")); err != nil {
		return s, err
	}
	if s.Tip, err = commit(ctx, git, t.Path, "refs/heads/"+t.Branch); err != nil {
		return s, err
	}
	args := []string{"rev-list", "--count", "HEAD"}
	if s.Tip != "" {
		args = append(args, s.Tip)
	}
	args = append(args, "^"+t.Base)
	if into, err := t.into(ctx, git); err != nil {
		return s, err
	} else if into != "" {
		args = append(args, "^"+into)
	}
	count, err := git(ctx, t.Path, args...)
	if err != nil {
		return s, err
	}
	s.Commits = number(count)
	modules, _ := os.ReadDir(filepath.Join(own, "modules")) // mostly there are none
	s.Submodules = len(modules) > 0
	nested, _ := os.ReadDir(filepath.Join(t.Dir(), Folder))
	for _, e := range nested {
		s.Nested = s.Nested || e.IsDir()
	}
	return s, nil
}

// into returns the last commit of the branch of the main checkout, "" if there is none.
func (t Tree) into(ctx context.Context, git Git) (string, error) {
	if t.Into == "" {
		return "", nil
	}
	return commit(ctx, git, t.Path, "refs/heads/"+t.Into)
}

// word quotes a word for a shell where it needs it.
func word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
