package git

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// UndoRuns returns the refs of all runs with snapshots in the repository of dir, that with the newest commit first.
func UndoRuns(ctx context.Context, git RunEnv, dir string) (refs []string, err error) {
	where := strings.TrimSuffix(undoRefs, "/")
	out, err := git(ctx, dir, nil, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", where)
	for ref := range strings.Lines(out) {
		refs = append(refs, strings.TrimSpace(ref))
	}
	return refs, err
}

// A Blamer finds out which snapshot has a line of a file first.
type Blamer struct {
	file    string // absolute
	path    string // in the trees of snapshots
	objects string // folder of the repository with its objects
	place   string // of a repository whose HEAD is the snapshot that is looked at
	git     RunEnv
}

// NewBlamer returns a Blamer for a file in a repository. It writes below place, a new folder.
func NewBlamer(ctx context.Context, git RunEnv, file, place string) (*Blamer, error) {
	file, err := filepath.EvalSymlinks(file) // as git has the top of a repository
	if err != nil {
		return nil, err
	}
	out, err := git(ctx, filepath.Dir(file), nil,
		"rev-parse", "--path-format=absolute", "--show-object-format", "--git-common-dir", "--show-prefix")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out+"\n", "\n")
	b := &Blamer{
		file: file, path: lines[2] + filepath.Base(file), objects: filepath.Join(lines[1], "objects"), place: place,
		git: git,
	}
	for _, dir := range []string{place, filepath.Join(place, "objects"), filepath.Join(place, "refs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return b, os.WriteFile(filepath.Join(place, "config"), []byte(walkConfig(lines[0])), 0o600)
}

// Line returns the commit on the way to the commit tip that a line of the file came in with; "" = tip does not have the
// line: it was changed since, or the file is not in it. Lines count from 1.
func (b *Blamer) Line(ctx context.Context, tip string, n int) (commit string, err error) {
	if err := os.WriteFile(filepath.Join(b.place, "HEAD"), []byte(tip+"\n"), 0o600); err != nil {
		return "", err
	}
	env := []string{"GIT_DIR=" + b.place, "GIT_WORK_TREE=" + b.place, "GIT_OBJECT_DIRECTORY=" + b.objects}
	has, err := answer(b.git(ctx, b.place, env, "rev-parse", "-q", "--verify", tip+":"+b.path))
	if err != nil || has == "" {
		return "", err
	}
	at := strconv.Itoa(n)
	out, err := b.git(ctx, b.place, env, append(append([]string{}, walkArgs...),
		"blame", "--porcelain", "--root", "--first-parent", "-L", at+","+at, "--contents", b.file, "--", b.path)...)
	if err != nil {
		return "", err
	}
	commit, _, _ = strings.Cut(out, " ")
	if strings.Trim(commit, "0") == "" {
		return "", nil
	}
	return commit, nil
}
