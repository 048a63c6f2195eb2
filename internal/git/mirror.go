package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/internal/disk"
)

// A Mirror is a bare repository on this machine with what a remote has. Its methods may be called by several
// processes at once.
type Mirror struct {
	Remote string // its URL, as the settings of the worker have it
	Dir    string // the bare repository
	Trees  string // the folder of the work trees
	// Refuses reports whether what git printed means that the remote refuses its login; nil = that is not known.
	Refuses func(text string) bool

	git RunEnv
}

// OpenMirror returns the mirror of a remote in a folder of this machine, and makes it where there is none.
// Nothing is fetched yet.
func OpenMirror(ctx context.Context, git RunEnv, folder, remote string) (*Mirror, error) {
	if remote == "" || strings.HasPrefix(remote, "-") {
		return nil, fmt.Errorf("%q is no address of a repository", remote)
	}
	sum := sha256.Sum256([]byte(remote))
	name := hex.EncodeToString(sum[:8])
	m := &Mirror{
		Remote: remote, Dir: filepath.Join(folder, "mirrors", name+".git"),
		Trees: filepath.Join(folder, "trees", name), git: git,
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.Dir), 0o700), os.MkdirAll(m.Trees, 0o700)); err != nil {
		return nil, err
	}
	return m, m.alone(ctx, func() error {
		if _, err := os.Stat(filepath.Join(m.Dir, "loops")); err == nil {
			return nil
		}
		if _, err := git(ctx, folder, nil, "init", "-q", "--bare", m.Dir); err != nil { // again, where it was cut short
			return err
		}
		for _, set := range [][2]string{
			{"remote.origin.url", remote},
			{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"},
			{"gc.auto", "0"},
		} {
			if _, err := git(ctx, m.Dir, nil, "config", set[0], set[1]); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(m.Dir, "loops"), []byte(remote+"\n"), 0o600)
	})
}

// alone does f while no other process changes what the mirror knows of the remote.
func (m *Mirror) alone(ctx context.Context, f func() error) error {
	file, err := os.OpenFile(m.Dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer disk.Release(file) //nolint:errcheck // nothing was written
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return &os.PathError{Op: "flock", Path: file.Name(), Err: err}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refName is the name of a run as part of a ref, of a path and of a branch: what cannot be in all of them is escaped.
func refName(run string) string {
	var b strings.Builder
	for _, c := range []byte(run) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// RefOf is the ref that holds the files of a run, here and on the remote.
func RefOf(run string) string { return "refs/loops/" + refName(run) }

// theirs is the ref in the mirror that says what the remote had last at the ref of a run.
func theirs(run string) string { return "refs/remotes/loops/" + refName(run) }

// A NoCommitError means that a commit is neither here nor on the remote.
type NoCommitError struct{ Commit, Remote string }

func (e *NoCommitError) Error() string {
	return fmt.Sprintf("commit %.12s is not on %s; push it there", e.Commit, e.Remote)
}

// isHash reports whether a text is the full name of a commit.
func isHash(commit string) bool {
	_, err := hex.DecodeString(commit)
	return err == nil && (len(commit) == 40 || len(commit) == 64) && commit == strings.ToLower(commit)
}

// fetch gets what there is of a run, and the branches if its commit is not among it.
func (m *Mirror) fetch(ctx context.Context, run, commit string) error {
	if !isHash(commit) {
		return fmt.Errorf("%q is no full name of a commit", commit)
	}
	return m.alone(ctx, func() error {
		if m.has(ctx, commit) {
			return nil
		}
		for _, refs := range []string{
			"+" + RefOf(run) + "*:" + theirs(run) + "*",
			"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*",
		} {
			if _, err := m.git(ctx, m.Dir, nil, "fetch", "-q", "--no-tags", "--no-write-fetch-head",
				"--end-of-options", m.Remote, refs); err != nil {
				return m.away(err)
			}
			if m.has(ctx, commit) {
				return nil
			}
		}
		return &NoCommitError{commit, m.Remote}
	})
}

// Fetch gets a commit and what there is of a run from the remote, if it is not here. A *NoCommitError means
// that the remote does not have the commit, an *AwayError that it could not be asked.
func (m *Mirror) Fetch(ctx context.Context, run, commit string) error {
	return m.fetch(ctx, run, commit)
}

// Tip returns the commit of a branch of the remote; the branch "" is its HEAD. An *AwayError means that it
// could not be asked.
func (m *Mirror) Tip(ctx context.Context, branch string) (string, error) {
	ref := "HEAD"
	if branch != "" {
		ref = "refs/heads/" + branch
	}
	tips, err := m.list(ctx, ref)
	if err != nil {
		return "", err
	}
	if tips[ref] == "" {
		return "", fmt.Errorf("%s has no %s", m.Remote, strings.TrimPrefix(ref, "refs/heads/"))
	}
	return tips[ref], nil
}

// list returns the commits of the refs of the remote that fit a pattern.
func (m *Mirror) list(ctx context.Context, pattern string) (map[string]string, error) {
	out, err := m.git(ctx, m.Dir, nil, "ls-remote", "--end-of-options", m.Remote, pattern)
	if err != nil {
		return nil, m.away(err)
	}
	tips := map[string]string{}
	for line := range strings.Lines(out) {
		if tip, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			tips[ref] = tip
		}
	}
	return tips, nil
}

// has reports whether a commit is here.
func (m *Mirror) has(ctx context.Context, commit string) bool {
	_, err := m.git(ctx, m.Dir, nil, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// remoteTip returns what the remote has at the ref of a run; "" = nothing.
func (m *Mirror) remoteTip(ctx context.Context, run string) (string, error) {
	tips, err := m.list(ctx, RefOf(run))
	return tips[RefOf(run)], err
}

// An AwayError means that the remote could not be asked, or did not answer in time.
type AwayError struct {
	Remote  string
	Err     error
	Refused bool // it refuses the login of git, so that trying again does not help
}

// away returns the error of a command of git that asked the remote.
func (m *Mirror) away(err error) error { return &AwayError{m.Remote, err, m.refuses(err)} }

// refuses reports whether a command of git failed because the remote refuses its login.
func (m *Mirror) refuses(err error) bool {
	e, is := errors.AsType[*Error](err)
	return is && m.Refuses != nil && m.Refuses(e.Text)
}

// isRefused reports whether an error is an [AwayError] of a remote that refuses the login of git.
func isRefused(err error) bool {
	e, is := errors.AsType[*AwayError](err)
	return is && e.Refused
}

func (e *AwayError) Error() string {
	if e.Refused {
		return fmt.Sprintf("the repository %s refuses the login of git: %v", e.Remote, e.Err)
	}
	return fmt.Sprintf("the repository %s cannot be reached: %v", e.Remote, e.Err)
}

func (e *AwayError) Unwrap() error { return e.Err }

// ForgetAll is Forget of those runs that the remote has something of.
func (m *Mirror) ForgetAll(ctx context.Context, runs []string) error {
	tips, err := m.list(ctx, "refs/loops/*")
	if err != nil {
		return err
	}
	var errs []error
	for _, run := range runs {
		if tips[RefOf(run)] != "" {
			errs = append(errs, m.Forget(ctx, run))
		}
	}
	return errors.Join(errs...)
}

// Kept reports whether the remote has something of a run.
func (m *Mirror) Kept(ctx context.Context, run string) (bool, error) {
	tip, err := m.remoteTip(ctx, run)
	return tip != "", err
}

// Runs returns the runs that have a work tree here, sorted.
func (m *Mirror) Runs() ([]string, error) {
	entries, err := os.ReadDir(m.Trees)
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if run, err := url.PathUnescape(name); err == nil && e.IsDir() {
			runs = append(runs, run)
		}
	}
	return slices.Compact(runs), nil
}

// Forget deletes the refs of a run on the remote and here, and its work trees that no process uses. That there
// are none is no error.
func (m *Mirror) Forget(ctx context.Context, run string) error {
	tip, err := m.remoteTip(ctx, run)
	if err != nil {
		return err
	}
	if tip != "" {
		if _, err := m.git(ctx, m.Dir, nil, "push", "-q", "--no-verify", "--force-with-lease="+RefOf(run)+":"+tip,
			"--end-of-options", m.Remote, ":"+RefOf(run)); err != nil {
			return fmt.Errorf("delete %s on %s: %w", RefOf(run), m.Remote, err)
		}
	}
	if err := m.RemoveTrees(ctx, run); err != nil {
		return err
	}
	return m.alone(ctx, func() error {
		refs, err := m.git(ctx, m.Dir, nil, "for-each-ref", "--format=%(refname)", RefOf(run), theirs(run), left(run),
			UndoRef(run),
			"refs/heads/"+BranchPrefix+refName(run), "refs/heads/"+BranchPrefix+refName(run)+".*")
		for ref := range strings.Lines(refs) {
			if _, e := m.git(ctx, m.Dir, nil, "update-ref", "-d", strings.TrimSpace(ref)); e != nil {
				err = errors.Join(err, e)
			}
		}
		return err
	})
}

// RemoveTrees removes the work trees of a run here that no process uses, with all that is in them and not on
// the remote.
func (m *Mirror) RemoveTrees(ctx context.Context, run string) error {
	return m.alone(ctx, func() error {
		for n := 1; n <= mostTrees; n++ {
			t := m.place(run, n)
			lock, err := t.lock()
			if err != nil || lock == nil {
				continue // a process uses it
			}
			if _, err := os.Lstat(t.Dir); err == nil {
				_, err = m.git(ctx, m.Dir, nil, "worktree", "remove", "-f", "-f", t.Dir)
				if isGitError(err) {
					err = os.RemoveAll(t.Dir)
				}
				if err != nil {
					return errors.Join(err, disk.Release(lock))
				}
			}
			_ = os.Remove(lock.Name()) // under its lock
			_ = disk.Release(lock)
		}
		_, err := m.git(ctx, m.Dir, nil, "worktree", "prune")
		return err
	})
}
