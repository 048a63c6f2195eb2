package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/engine"

	"loops/internal/terminal"
)

// checkTreeInput refuses an INPUT that was meant as the branch of --worktree, which has a value only after a =. Where
// it is not a branch, but could be one, a hint is printed.
func (a *program) checkTreeInput(ctx context.Context, o *runOptions) error {
	if !o.tree.Asked || o.tree.Branch != "" || o.input == nil || !follows(a.args, "--worktree", *o.input) {
		return nil
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	is, err := engine.IsBranch(ctx, p, a.engineOptions(), *o.input)
	if err != nil {
		return a.refused(engine.TreeError(err))
	}
	word := quote(*o.input)
	switch {
	case is:
		return usageError{
			fmt.Sprintf("--worktree %s: the branch comes behind a =: --worktree=%s; if %s is the INPUT, put it "+
				"before --worktree", word, word, word), "loops run --help",
		}
	case !o.view.quiet && !strings.ContainsAny(*o.input, " \t\n{"):
		terminal.Say(a.Err, "loops: %s is the INPUT; the branch of a work tree comes behind a =: --worktree=%s\n",
			word, word)
	}
	return nil
}

// follows reports whether word is the argument behind flag, and not given before.
func follows(args []string, flag, word string) bool {
	i := slices.Index(args, flag)
	return i >= 0 && i+1 < len(args) && args[i+1] == word && !slices.Contains(args[:i], word)
}
