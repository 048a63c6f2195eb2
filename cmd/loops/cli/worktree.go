package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"loops/engine"
	"loops/internal/worktree"
)

// treeFlags are the flags of run that choose a work tree.
type treeFlags struct {
	asked  bool
	branch string // "" = a new one
	end    string // "" = as the loop or the config says
}

// newBranch is the value of --worktree without one. No branch can have this name.
const newBranch = "HEAD"

// String is the value as it would be given: an empty one is an error, as for every flag.
func (f *treeFlags) String() string {
	if f.asked && f.branch == "" {
		return newBranch
	}
	return f.branch
}

// Type is how help calls the value.
func (f *treeFlags) Type() string { return "BRANCH" }

// Set takes the value of --worktree.
func (f *treeFlags) Set(branch string) error {
	if branch == "" {
		return errors.New("expected the name of a branch, or --worktree alone")
	}
	if branch == newBranch {
		branch = ""
	}
	f.asked, f.branch = true, branch
	return nil
}

func (f *treeFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(f, "worktree", "run the actions in a work tree of git: of a new branch from HEAD, or of `BRANCH`, which is made if need be")
	flags.Lookup("worktree").NoOptDefVal = newBranch
	flags.StringVar(&f.end, "worktree-end", "", "what becomes of the work tree at the end: `HOW` is keep (if there is something in it; the default), merge (what was committed, if the run succeeds) or discard")
}

// request is what the flags ask for.
func (f *treeFlags) request() engine.TreeRequest {
	return engine.TreeRequest{Asked: f.asked, Branch: f.branch, End: f.end}
}

var treeEnds = []string{worktree.Keep, worktree.Merge, worktree.Discard}

func (f *treeFlags) check(command string) error {
	switch {
	case f.end != "" && !slices.Contains(treeEnds, f.end):
		return usageError{fmt.Sprintf("--worktree-end %q: expected keep, merge or discard", f.end), command + " --help"}
	case f.end != "" && !f.asked:
		return usageError{"--worktree-end needs --worktree", command + " --help"}
	}
	return nil
}
