package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"loops/engine"
)

// flagWorkTree are the flags of run and fork that choose a work tree. It is the value of --worktree.
type flagWorkTree struct {
	Asked  bool
	Branch string // "" = a new one
	end    string // "" = as the loop or the config says
}

// newBranch is the value of --worktree without one. No branch can have this name.
const newBranch = "HEAD"

// String is the value as it would be given: an empty one is an error, as for every flag.
func (f *flagWorkTree) String() string {
	if f.Asked && f.Branch == "" {
		return newBranch
	}
	return f.Branch
}

// Type is how help calls the value.
func (f *flagWorkTree) Type() string { return "BRANCH" }

// Set takes the value of --worktree.
func (f *flagWorkTree) Set(branch string) error {
	if branch == "" {
		return errors.New("expected the name of a branch, or --worktree alone")
	}
	if branch == newBranch {
		branch = ""
	}
	f.Asked, f.Branch = true, branch
	return nil
}

// Add adds the flags.
func (f *flagWorkTree) Add(flags *pflag.FlagSet) {
	flags.Var(f, "worktree", "run the actions in a work tree of git: of a new branch from HEAD, or of `BRANCH`, "+
		"which is made if need be")
	flags.Lookup("worktree").NoOptDefVal = newBranch
	flags.StringVar(&f.end, "worktree-end", "", "what becomes of the work tree at the end: `HOW` is keep (if there "+
		"is something in it; the default), merge (what was committed, if the run succeeds) or discard")
}

// Request is what the flags ask for.
func (f *flagWorkTree) Request() engine.TreeRequest {
	return engine.TreeRequest{Asked: f.Asked, Branch: f.Branch, End: f.end}
}

// Check reports what is wrong with what was given.
func (f *flagWorkTree) Check() error {
	switch {
	case f.end != "" && !slices.Contains(engine.TreeEnds, f.end):
		return fmt.Errorf("--worktree-end %q: expected keep, merge or discard", f.end)
	case f.end != "" && !f.Asked:
		return errors.New("--worktree-end needs --worktree")
	}
	return nil
}
