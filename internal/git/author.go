package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// An Author is who wrote the last change of a file, as its commit says.
type Author struct{ Email, Date string }

// LastAuthor returns the author of the last commit that changed a file, nil where git says nothing of what is there: no
// commit has the file, it was changed since, or the repository has no remote, so that all of it was written here. The
// name of an author is what the commit says, which git does not verify.
func LastAuthor(ctx context.Context, run RunEnv, file string) (*Author, error) {
	dir, name := filepath.Dir(file), filepath.Base(file)
	if !mayHaveRemotes(dir) {
		return nil, nil
	}
	remotes, err := run(ctx, dir, nil, "remote")
	if err != nil || remotes == "" {
		return nil, err
	}
	out, err := run(ctx, dir, nil, "-c", "log.showSignature=false", "--literal-pathspecs", "log", "-1",
		"--no-show-signature", "--format=%ae%x00%as", "--", name)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Code == 128 &&
			strings.Contains(e.Text, "does not have any commits yet") {
			return nil, nil
		}
		return nil, err
	}
	email, date, found := strings.Cut(out, "\x00")
	if !found {
		return nil, nil
	}
	_, err = run(ctx, dir, nil, "--literal-pathspecs", "diff", "--quiet", "--no-ext-diff", "--no-textconv", "HEAD",
		"--", name)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == 1 {
		return nil, nil
	}
	return &Author{email, date}, err
}

// mayHaveRemotes reports whether the repository around a folder may have remotes. It starts no process.
func mayHaveRemotes(dir string) bool {
	for {
		place := filepath.Join(dir, ".git")
		if info, err := os.Lstat(place); err == nil {
			if !info.IsDir() {
				return true
			}
			b, err := os.ReadFile(filepath.Join(place, "config"))
			text := strings.ToLower(string(b))
			return err != nil || strings.Contains(text, "[remote") || strings.Contains(text, "[include")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// Emails returns the addresses by which the user of a folder writes commits.
func Emails(ctx context.Context, run RunEnv, dir string, getenv func(string) (string, bool)) (all []string) {
	for _, name := range []string{"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"} {
		if email, _ := getenv(name); email != "" {
			all = append(all, email)
		}
	}
	if email, err := run(ctx, dir, nil, "config", "user.email"); err == nil && email != "" {
		all = append(all, email)
	}
	return all
}

// HasFiles reports whether git tracks something at or below a path.
func HasFiles(ctx context.Context, run RunEnv, path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if !InGit(dir) {
		return false
	}
	out, err := run(ctx, dir, nil, "--literal-pathspecs", "ls-files", "--", name)
	return err != nil || out != ""
}
