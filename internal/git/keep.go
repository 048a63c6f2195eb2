package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Patience is how long a push that the remote does not answer is tried again.
var Patience = 5 * time.Minute

// The committer: the settings of the machine may name none.
const (
	committer     = "loops"
	committerMail = "loops@localhost"
)

// who has git commit as the committer.
var who = []string{
	"GIT_AUTHOR_NAME=" + committer, "GIT_AUTHOR_EMAIL=" + committerMail, "GIT_COMMITTER_NAME=" + committer,
	"GIT_COMMITTER_EMAIL=" + committerMail,
}

// A LostError means that another worker has the files of the run now, or that its ref was changed by hand.
type LostError struct {
	Run, Ref, Remote string
	Has              string // the commit that is there; "" = the ref is gone
}

func (e *LostError) Error() string {
	if e.Has == "" {
		return fmt.Sprintf("%s is gone from %s: the files of run %s were deleted, or their ref was", e.Ref, e.Remote,
			e.Run)
	}
	return fmt.Sprintf("another worker has the files of run %s: %s of %s is at %.12s", e.Run, e.Ref, e.Remote, e.Has)
}

// Claim makes this process the one that keeps the files of the run, from now on: a push of an earlier owner is
// refused. epoch is the number of the owner, which grows from owner to owner. The tree is brought to the commit
// that was recorded last ("" = none was), unless it was made so. A *LostError means that a later owner was
// there before.
func (t *RefTree) Claim(ctx context.Context, epoch int64, recorded string) error {
	t.epoch, t.tip = epoch, ""
	if recorded != "" && recorded != t.as {
		err := t.m.fetch(ctx, t.Run, recorded)
		if err == nil {
			err = t.Reset(ctx, recorded)
		}
		if err != nil {
			return err
		}
	}
	const tries = 20 // each is lost to another owner's push
	for range tries {
		tip, err := t.remoteTip(ctx)
		if err != nil {
			return err
		}
		var parents []string
		if tip != "" {
			if !t.m.has(ctx, tip) {
				if err := t.m.alone(ctx, func() error {
					_, err := t.m.git(ctx, t.m.Dir, nil, "fetch", "-q", "--no-tags", "--no-write-fetch-head",
						"--end-of-options", t.m.Remote, "+"+RefOf(t.Run)+"*:"+theirs(t.Run)+"*")
					return err
				}); err != nil {
					return t.m.away(err)
				}
			}
			if !t.m.has(ctx, tip) {
				continue // it moved on
			}
			about, err := t.m.about(ctx, tip)
			if err != nil {
				return err
			}
			if about.epoch > epoch {
				return &LostError{t.Run, RefOf(t.Run), t.m.Remote, tip}
			}
			parents = append(parents, tip)
		}
		if t.as != tip && t.as != t.kept.head && !t.holds(ctx, tip, t.as) {
			parents = append(parents, t.as)
		}
		c, err := t.commit(ctx, t.kept, "Files of a run that a worker takes", parents...)
		if err != nil {
			return err
		}
		won, err := t.push(ctx, tip, c)
		if err != nil {
			return err
		}
		if won == "" {
			t.tip = c
			if t.as == t.kept.head { // nothing of the run is recorded yet
				t.as = c
			}
			return nil
		}
	}
	return fmt.Errorf("%s of %s changed %d times while this worker tried to take it", RefOf(t.Run), t.m.Remote, tries)
}

// holds reports whether a commit is among the ancestors of a tip.
func (t *RefTree) holds(ctx context.Context, tip, commit string) bool {
	if tip == "" {
		return false
	}
	_, err := t.m.git(ctx, t.m.Dir, nil, "merge-base", "--is-ancestor", commit, tip)
	return err == nil
}

// Keep has the remote keep the files as they are, and returns the commit that holds them. When it returns they
// are there; the caller records the commit then. Where nothing changed nothing is pushed. A remote that is away
// is waited for as long as Patience, and then is an *AwayError; one that refuses the login of git is one at once. A
// *LostError means that the run has another owner.
func (t *RefTree) Keep(ctx context.Context) (commit string, err error) {
	if t.tip == "" {
		return "", errors.New("the files were not claimed")
	}
	is, err := t.look(ctx)
	if err != nil {
		return "", err
	}
	if is == t.kept {
		return t.as, nil
	}
	c, err := t.commit(ctx, is, "Files of a run", t.tip)
	if err != nil {
		return "", err
	}
	has, err := t.push(ctx, t.tip, c)
	if err != nil {
		return "", err
	}
	if has != "" {
		return "", &LostError{t.Run, RefOf(t.Run), t.m.Remote, strings.TrimPrefix(has, gone)}
	}
	t.tip, t.kept, t.as = c, is, c
	return c, nil
}

// look finds out what is in the tree. It works on a copy of the index, whose lock a process that was killed may
// have left.
func (t *RefTree) look(ctx context.Context) (s state, err error) {
	for try := 0; ; try++ {
		s, err = t.lookOnce(ctx)
		if err == nil || !isGitError(err) || try == 2 {
			return s, err
		}
		// A file that an action left at work removed while git read it.
	}
}

func (t *RefTree) lookOnce(ctx context.Context) (s state, err error) {
	admin := t.admin()
	if admin == "" {
		return s, fmt.Errorf("%s is no longer a work tree of git", t.Dir)
	}
	index := filepath.Join(admin, "loops-index")
	for _, f := range []string{index, index + ".lock"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	if err := copyFile(filepath.Join(admin, "index"), index); err != nil {
		return s, err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	if s.head, err = t.git(ctx, nil, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err != nil {
		return s, err
	}
	if _, err = t.git(ctx, env, "-c", "core.fsmonitor=false", "add", "-u", "--", ":/"); err != nil {
		return s, err
	}
	if s.index, err = t.git(ctx, env, "write-tree"); err != nil {
		return s, err
	}
	s.tree = s.index
	names, err := t.untracked(ctx, env)
	if err != nil || names == nil {
		return s, err
	}
	list := filepath.Join(admin, "loops-untracked")
	if err := os.WriteFile(list, []byte(strings.Join(names, "\x00")), 0o600); err != nil {
		return s, err
	}
	if _, err = t.git(ctx, env, "--literal-pathspecs", "add", "-f", "--pathspec-from-file="+list,
		"--pathspec-file-nul"); err != nil {
		return s, err
	}
	s.tree, err = t.git(ctx, env, "write-tree")
	return s, err
}

// copyFile copies an index with its time, by which git finds files that changed in the moment it was written.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is tracked
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
}

// commit makes a commit of a state. Its first parent is the HEAD of the tree; "" is no parent.
func (t *RefTree) commit(ctx context.Context, s state, subject string, parents ...string) (string, error) {
	message := fmt.Sprintf("%s\n\nLoops-Run: %s\nLoops-Epoch: %d\n", subject, refName(t.Run), t.epoch)
	args := []string{"commit-tree", s.tree, "-p", s.head}
	for _, p := range parents {
		if p != "" && p != s.head {
			args = append(args, "-p", p)
		}
	}
	if s.index != s.tree { // a commit of its own has the remote keep that tree
		message += "Loops-Index: " + s.index + "\n"
		i, err := t.m.git(ctx, t.m.Dir, who, "commit-tree", s.index, "-p", s.head, "-m", "Index of a run")
		if err != nil {
			return "", err
		}
		args = append(args, "-p", i)
	}
	return t.m.git(ctx, t.m.Dir, who, append(args, "-m", message)...)
}

// about is what the message of a commit of files says.
type about struct {
	run, index string
	epoch      int64
}

// about reads a message; that of another commit says nothing.
func (m *Mirror) about(ctx context.Context, commit string) (a about, err error) {
	text, err := m.git(ctx, m.Dir, nil, "log", "-1", "--format=%B", commit, "--")
	if err != nil {
		return a, err
	}
	for line := range strings.Lines(text) {
		switch key, v, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "Loops-Run":
			a.run = v
		case "Loops-Index":
			a.index = v
		case "Loops-Epoch":
			a.epoch, _ = strconv.ParseInt(v, 10, 64)
		}
	}
	return a, nil
}

// gone is the value of a ref that does not exist.
const gone = "-"

// push puts a commit instead of tip. "" means that it is there, anything else what is there instead (gone
// = nothing).
func (t *RefTree) push(ctx context.Context, tip, commit string) (has string, err error) {
	// git's own tidying leaves it
	if _, err := t.m.git(ctx, t.m.Dir, nil, "update-ref", RefOf(t.Run), commit); err != nil {
		return "", err
	}
	giveUp, pause := time.Now().Add(Patience), 50*time.Millisecond
	for refused := 0; ; {
		_, err = t.m.git(ctx, t.m.Dir, nil, "push", "-q", "--no-verify", "--force-with-lease="+RefOf(t.Run)+":"+tip,
			"--end-of-options", t.m.Remote, commit+":"+RefOf(t.Run))
		if err == nil {
			return "", nil
		}
		if !isGitError(err) {
			return "", err
		}
		has, asked := t.m.remoteTip(ctx, t.Run) // the answer may have been lost
		switch {
		case asked != nil:
			err = asked
		case has == commit:
			return "", nil
		case has == "" && tip != "":
			return gone, nil
		case has != tip:
			return has, nil
		case t.m.refuses(err):
			return "", t.m.away(err)
		case refused == 5: // another push may have had a lock in its hands, but not that often
			return "", fmt.Errorf("%s does not take %s: %w", t.m.Remote, RefOf(t.Run), err)
		default:
			refused++
		}
		if asked != nil && (isRefused(asked) || time.Now().Add(pause).After(giveUp)) {
			return "", err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// remoteTip waits for the remote as push does.
func (t *RefTree) remoteTip(ctx context.Context) (string, error) {
	giveUp, pause := time.Now().Add(Patience), 50*time.Millisecond
	for {
		tip, err := t.m.remoteTip(ctx, t.Run)
		if err == nil || isRefused(err) || ctx.Err() != nil || time.Now().Add(pause).After(giveUp) {
			return tip, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		pause = min(2*pause, 5*time.Second)
	}
}
