package git

import (
	"context"
	"fmt"
	"strings"
)

// Unchanged is what [Changes] returns where everything is committed.
const Unchanged = "\n"

// Head returns the commit and the branch that is checked out in dir, or those of a branch.
func Head(ctx context.Context, git Run, dir, branch string) (sha, name string, err error) {
	if branch != "" {
		sha, err = git(ctx, dir, "rev-parse", "refs/heads/"+branch)
		return sha, branch, err
	}
	out, err := git(ctx, dir, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
	if err != nil {
		return "", "", err
	}
	sha, name, ok := strings.Cut(out, "\n")
	if !ok {
		return "", "", fmt.Errorf("git printed %q for HEAD", out)
	}
	return sha, name, nil
}

// Changes returns what git prints of what is not committed in the repository of dir: the names of files that it
// does not track, and the differences in those that it does.
func Changes(ctx context.Context, git Run, dir string) (string, error) {
	status, err := git(ctx, dir, "status", "--porcelain")
	if err != nil || !changesTracked(status) {
		return status + "\n", err
	}
	diff, err := git(ctx, dir, "diff", "HEAD")
	return status + "\n" + diff, err
}

// changesTracked reports whether a status has more than files that git does not track: only then there are differences.
func changesTracked(status string) bool {
	for line := range strings.Lines(status) {
		if !strings.HasPrefix(line, "??") {
			return true
		}
	}
	return false
}

// Seen returns the files below a folder that git tracks or does not ignore, by their paths in it.
func Seen(ctx context.Context, git RunEnv, dir string) ([]string, error) {
	out, err := git(ctx, dir, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return split(out), nil
}
