package git

import (
	"context"
	"strings"
	"time"
)

// How often, and after which pause, a command is repeated that met a work tree in the making.
const (
	steadyTries = 20
	steadyPause = 50 * time.Millisecond
)

// Steady returns git so that commands of several runs can meet. Most commands read git's folders of all work
// trees, and end with "failed to read .git/worktrees/NAME/commondir" where another git is just making one and
// has not written that file yet. They look before they act, so the command is given again.
func Steady(git Run) Run {
	return func(ctx context.Context, dir string, args ...string) (out string, err error) {
		for range steadyTries {
			out, err = git(ctx, dir, args...)
			if !isGitError(err) || !strings.Contains(err.Error(), "failed to read") ||
				!strings.Contains(err.Error(), "/commondir") {
				return out, err
			}
			select {
			case <-time.After(steadyPause):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return out, err
	}
}
