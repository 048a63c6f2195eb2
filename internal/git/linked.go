package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An UnlinkedError means that a folder is no longer the work tree that it was: git in it would act on the
// repository around it.
type UnlinkedError struct {
	Path string
	why  string
}

func (e *UnlinkedError) Error() string {
	return fmt.Sprintf("%s is no longer a work tree of git: %s", e.Path, e.why)
}

// Repair returns the commands that make the folder the work tree again that it was; "" where the folder is gone.
func (e *UnlinkedError) Repair() string {
	if _, err := os.Lstat(e.Path); err != nil {
		return ""
	}
	project := word(Tree{Path: e.Path}.Project())
	repair := "git -C " + project + " worktree repair"
	if info, err := os.Lstat(filepath.Join(e.Path, ".git")); err == nil && !info.Mode().IsRegular() {
		own := word(filepath.Join(e.Path, ".git"))
		return "mv " + own + " " + word(e.Path+".git") + " && " + repair
	}
	return repair
}

// Top returns the top of the innermost work tree of a project that dir lies in, "" if it lies in none.
func Top(project, dir string) string {
	for len(dir) > len(project) {
		parent := filepath.Dir(dir)
		if filepath.Base(parent) == TreesFolder {
			return dir
		}
		dir = parent
	}
	return ""
}

// unlinked returns the error of [Linked] for a tree whose folder is there, else nil.
func (t Tree) unlinked() *UnlinkedError {
	if _, err := os.Lstat(t.Path); err != nil {
		return nil
	}
	lost, _ := errors.AsType[*UnlinkedError](Linked(t.Path))
	return lost
}

// Linked returns an *UnlinkedError unless .git of a work tree leads to git's own folder for this tree.
func Linked(path string) error {
	info, err := os.Lstat(filepath.Join(path, ".git"))
	_, gone := os.Lstat(path)
	switch own := admin(path); {
	case gone != nil:
		return &UnlinkedError{path, "it is gone"}
	case err != nil:
		return &UnlinkedError{path, "its .git is gone"}
	case !info.Mode().IsRegular():
		return &UnlinkedError{path, "its .git is no file of git's any more"}
	case own == "":
		return &UnlinkedError{path, "its .git leads to no folder of git"}
	default:
		back, err := os.ReadFile(filepath.Join(own, "gitdir"))
		link := strings.TrimSpace(string(back))
		if err == nil && !filepath.IsAbs(link) {
			link = filepath.Join(own, link)
		}
		if now, e := os.Stat(link); err != nil || e != nil || !os.SameFile(now, info) {
			return &UnlinkedError{path, "its .git leads to the folder of another work tree"}
		}
	}
	return nil
}
