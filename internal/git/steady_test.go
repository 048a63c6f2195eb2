package git

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// What a person saw who started four runs at once: "no work tree: fatal: failed to read
// .git/worktrees/NAME/commondir: Success; nothing was run".
func TestHalfMadeTreeOfAnotherRun(t *testing.T) {
	t.Parallel()
	unmade := &Error{"worktree", 128, "fatal: failed to read .git/worktrees/other/commondir: Success"}
	other := &Error{"worktree", 128, "fatal: 'x' is not a commit"}
	for _, c := range []struct {
		name  string
		fails int
		err   error
		calls int
		want  error
	}{
		{"made meanwhile", 2, unmade, 3, nil},
		{"never made", 1000, unmade, steadyTries, unmade},
		{"something else", 1000, other, 1, other},
		{"no git", 1000, ErrNoGit, 1, ErrNoGit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				_, err := Steady(func(context.Context, string, ...string) (string, error) {
					if calls++; calls <= c.fails {
						return "", c.err
					}
					return "", nil
				})(t.Context(), "", "worktree", "add")
				if calls != c.calls || !errors.Is(err, c.want) {
					t.Errorf("%d calls, %v; want %d, %v", calls, err, c.calls, c.want)
				}
			})
		})
	}
}
