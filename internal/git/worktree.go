package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loops/internal/humanize"
)

// TreesFolder is where work trees lie in a project.
const TreesFolder = ".worktrees"

// BranchPrefix is what the names of branches begin with that runs make.
const BranchPrefix = "loops/"

// Run runs git in a directory and returns what it printed on standard output, without the last line end. What
// git refused is a *Error. It may be called by several goroutines at once.
type Run func(ctx context.Context, dir string, args ...string) (string, error)

// An Error is what git printed when it did not do what it was asked to.
type Error struct {
	Command string // add, merge, ...
	Code    int    // its exit code
	Text    string // one line
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("git %s ended with exit code %d", e.Command, e.Code)
	}
	return e.Text
}

// TooLong says that git was ended because it took longer than a limit. said is what it and the hooks of the
// repository printed.
func TooLong(command string, limit time.Duration, said string) string {
	text := fmt.Sprintf("%s took longer than %s and was ended (setting git.timeout)", command, humanize.Duration(limit))
	if said != "" {
		text += "; it printed: " + said
	}
	return text
}

// ErrNoGit means that there is no program git.
var ErrNoGit = errors.New("git was not found in PATH; install git")

// A Refusal says to a person why a work tree cannot be had, and what to do.
type Refusal struct{ Text string }

func (e *Refusal) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// A Tree is the work tree of one run.
type Tree struct {
	Path   string `json:"path"`          // absolute
	Sub    string `json:"sub,omitempty"` // of the project, inside the repository; "" where the project is all of it
	Branch string `json:"branch"`        // without refs/heads/
	New    bool   `json:"new,omitempty"` // the run makes the branch
	Base   string `json:"base"`          // commit the run begins with
	// branch of the main checkout when the run began; "" = its HEAD was detached
	Into   string `json:"into,omitempty"`
	Before string `json:"before,omitempty"` // the run that had the tree before and left it; "" = it is a new tree
}

// Dir is the directory that actions run in.
func (t Tree) Dir() string { return filepath.Join(t.Path, t.Sub) }

// Project is the directory of the project that the tree is of.
func (t Tree) Project() string { return filepath.Dir(filepath.Dir(t.Path)) }

// A Plan is a work tree that could be made, and what a person should know before.
type Plan struct {
	Tree              // see Own
	Changed    int    // files of the main checkout with changes that were not committed, which the tree will not have
	Submodules bool   // it will have them empty
	Head       string // the commit that the tree will have, short
}

// Look finds out which work tree a run in a project could have: of a branch, or of a new one from HEAD if branch is "".
func Look(ctx context.Context, git Run, project, branch string) (*Plan, error) {
	top, err := git(ctx, project, "rev-parse", "--is-bare-repository")
	if err != nil {
		return nil, noRepository(project, err)
	}
	if top == "true" {
		return nil, refuse("%s is a bare repository of git, which has no checkout that loops could keep its records "+
			"in; clone it first", project)
	}
	sub, err := git(ctx, project, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, noRepository(project, err)
	}
	p := &Plan{Tree: Tree{Sub: strings.TrimSuffix(sub, "/"), Branch: branch}}
	if p.Base, err = commit(ctx, git, project, "HEAD"); err != nil {
		return nil, err
	}
	if p.Base == "" {
		return nil, refuse("the repository has no commit yet, so there is nothing to make a work tree from; commit " +
			"something first")
	}
	if p.Into, err = head(ctx, git, project); err != nil {
		return nil, err
	}
	tip, err := p.branch(ctx, git, project)
	if err != nil {
		return nil, err
	}
	if p.Head, err = git(ctx, project, "rev-parse", "--short", tip); err != nil {
		return nil, err
	}
	if p.Sub != "" {
		if there, err := has(ctx, git, project, tip+":"+p.Sub); err != nil || !there {
			return nil, orRefuse(err, "commit %s has no folder %s, so a work tree would lack the project; "+
				"commit it first", p.Head, p.Sub)
		}
	}
	if p.Submodules, err = has(ctx, git, project, tip+":.gitmodules"); err != nil {
		return nil, err
	}
	changed, err := git(ctx, project, "status", "--porcelain", "--untracked-files=normal", "--", ":/",
		":(exclude)"+TreesFolder, ":(exclude).loops")
	p.Changed = lines(changed)
	return p, err
}

// noRepository explains why git finds no repository.
func noRepository(project string, err error) error {
	var said *Error
	if !errors.As(err, &said) {
		return err
	}
	for dir := project; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return refuse("git cannot work in %s: %s", project, said)
		}
		if dir == filepath.Dir(dir) {
			return refuse("%s is in no repository of git; make one (git init) and commit something, or run "+
				"without --worktree", project)
		}
	}
}

// branch finds out about the branch that was asked for, and returns the commit that the tree will have.
func (p *Plan) branch(ctx context.Context, git Run, project string) (tip string, err error) {
	if p.Branch == "" {
		p.New = true
		name := strings.TrimSuffix(BranchPrefix, "/")
		taken, err := commit(ctx, git, project, "refs/heads/"+name)
		if err != nil || taken != "" {
			return "", orRefuse(err, "there is a branch %s, so that git cannot have branches in %s; name one: "+
				"--worktree=BRANCH", name, BranchPrefix)
		}
		return p.Base, nil
	}
	_, err = git(ctx, project, "check-ref-format", "refs/heads/"+p.Branch)
	if strings.HasPrefix(p.Branch, "-") || p.Branch == "@" || isGitError(err) { // git takes @ for HEAD
		return "", refuse("%q cannot be the name of a branch: names have no spaces, no .. and none of ~^:?*[\\, do "+
			"not begin with -, and are not @", p.Branch)
	}
	if err != nil {
		return "", err
	}
	if tip, err = commit(ctx, git, project, "refs/heads/"+p.Branch); err != nil {
		return "", err
	}
	if tip == "" {
		p.New = true
		remote, err := git(ctx, project, "for-each-ref", "--count=1", "--format=%(refname:short)",
			"refs/remotes/*/"+p.Branch)
		if err != nil || remote != "" {
			return "", orRefuse(err, "there is no branch %s here, but %s; make it first: git branch %s %s", p.Branch,
				remote, p.Branch, remote)
		}
		return p.Base, nil
	}
	at, err := where(ctx, git, project, p.Branch)
	if err != nil || at == "" {
		p.Base = tip
		return tip, err
	}
	m, err := ReadMark(at)
	if err != nil || m.Run == "" || !same(filepath.Dir(at), filepath.Join(project, TreesFolder)) {
		return "", orRefuse(err, "branch %s is checked out in %s; choose another one, or switch branches "+
			"there (git switch)", p.Branch, at)
	}
	// What the run before left there counts as this one's.
	p.Path, p.Before, p.New, p.Base = filepath.Join(project, TreesFolder, filepath.Base(at)), m.Run, m.Tree.New,
		m.Tree.Base
	return tip, nil
}

// where returns the work tree that has a branch checked out, "" if none has. One whose folder is gone has none.
func where(ctx context.Context, git Run, project, branch string) (string, error) {
	list, err := git(ctx, project, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	at := ""
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			at = path
		}
		if line == "branch refs/heads/"+branch {
			if _, err := os.Lstat(at); err == nil {
				return at, nil
			}
		}
	}
	return "", nil
}

// same reports whether two paths are the same folder.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Own returns the tree of a run that has one for itself. The id of the run is part of its path and, unless the run was
// given a branch, of the branch.
func (t Tree) Own(project, run string) Tree {
	name := clean(run)
	if t.Path == "" {
		t.Path = filepath.Join(project, TreesFolder, name)
	}
	if t.Branch == "" {
		t.Branch = BranchPrefix + name
	}
	return t
}

// clean makes of the id of a run what can be part of a branch and of a path.
func clean(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, id)
	for strings.Contains(name, "..") {
		name = strings.ReplaceAll(name, "..", ".")
	}
	return strings.Trim(name, ".-")
}

// commit returns the commit that a name means, "" if there is none.
func commit(ctx context.Context, git Run, dir, name string) (string, error) {
	return answer(git(ctx, dir, "rev-parse", "-q", "--verify", name+"^{commit}"))
}

// head returns the branch that is checked out, "" if none is. (git's --short would distinguish it from a tag of the
// same name.)
func head(ctx context.Context, git Run, dir string) (string, error) {
	ref, err := answer(git(ctx, dir, "symbolic-ref", "-q", "HEAD"))
	return strings.TrimPrefix(ref, "refs/heads/"), err
}

// IsBranch reports whether the repository of a project has a branch of this name.
func IsBranch(ctx context.Context, git Run, project, name string) (bool, error) {
	tip, err := commit(ctx, git, project, "refs/heads/"+name)
	return tip != "", err
}

// has reports whether git has an object.
func has(ctx context.Context, git Run, dir, object string) (bool, error) {
	_, err := git(ctx, dir, "cat-file", "-e", object)
	if isGitError(err) {
		return false, nil
	}
	return err == nil, err
}

// answer takes git's refusal for "there is none".
func answer(text string, err error) (string, error) {
	if isGitError(err) {
		return "", nil
	}
	return text, err
}

// isGitError reports whether git itself refused.
func isGitError(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

func orRefuse(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return refuse(format, args...)
}

// lines counts them.
func lines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// number reads what git counted.
func number(text string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(text)) // git counts in digits
	return n
}
