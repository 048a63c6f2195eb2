package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A refUpdater is a process of git that moves refs of a repository. A nil one moves none. It is not safe for concurrent
// use.
type refUpdater struct {
	env    []string // of git
	limit  time.Duration
	asked  bool // whether git can do it
	able   bool
	common string // folder of the repository
	helper *helper
}

var errRef = errors.New("git did not move a ref")

// batchVersion is the first version of git that answers each command of a batch at once.
const batchVersion = "2.34"

// ready reports whether the updater can move refs of a repository. git runs git.
func (u *refUpdater) ready(ctx context.Context, git RunEnv, common string) bool {
	if u == nil {
		return false
	}
	if !u.asked {
		out, err := git(ctx, common, nil, "version")
		if err != nil {
			return false // the next snapshot asks again
		}
		u.asked, u.common, u.able = true, common, atLeast(out, batchVersion)
	}
	return u.able
}

// atLeast reports whether git printed a version that is not older than another.
func atLeast(printed, version string) bool {
	var is, want [2]int
	_, err := fmt.Sscanf(strings.TrimPrefix(printed, "git version "), "%d.%d", &is[0], &is[1])
	if err == nil {
		_, err = fmt.Sscanf(version, "%d.%d", &want[0], &want[1])
	}
	return err == nil && (is[0] > want[0] || is[0] == want[0] && is[1] >= want[1])
}

// move moves a ref to a commit from another one, which it has to have; "" = it is not there.
func (u *refUpdater) move(ctx context.Context, ref, to, from string) (err error) {
	if u.helper == nil {
		args := append([]string{"--git-dir=" + u.common}, alone...)
		if u.helper, err = startHelper(u.common, u.env, u.limit, append(args, "update-ref", "--stdin")...); err != nil {
			return err
		}
	}
	if from == "" {
		from = strings.Repeat("0", len(to))
	}
	err = u.helper.ask(ctx, fmt.Sprintf("start\nupdate %s %s %s\ncommit\n", ref, to, from),
		func(out *bufio.Reader) error {
			for _, want := range []string{"start: ok\n", "commit: ok\n"} {
				if line, err := out.ReadString('\n'); err != nil || line != want {
					return errRef // what git said has the reason
				}
			}
			return nil
		})
	if err != nil {
		u.helper = nil // it was closed
	}
	return err
}

// close ends the process.
func (u *refUpdater) close() {
	if u != nil && u.helper != nil {
		u.helper.close()
		u.helper = nil
	}
}
