package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
)

// mostLooked is how many files are looked at for patterns. With more it is not known whether a pattern matches one.
const mostLooked = 50_000

// unmatched returns the patterns that match no file below a folder. Those of [loopfile.TestFiles] are none of
// them: they are for any project.
func unmatched(root string, patterns []glob.Pattern) (none []string) {
	left := slices.DeleteFunc(slices.Clone(patterns), func(p glob.Pattern) bool {
		return slices.Contains(loopfile.TestFiles(), p.String())
	})
	if len(left) == 0 {
		return nil
	}
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if seen++; err != nil || path == root {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == ".worktrees" ||
			filepath.Base(filepath.Dir(path)) == project.Folder) {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(p glob.Pattern) bool { return p.Covers(filepath.ToSlash(rel)) })
		if len(left) == 0 || seen > mostLooked {
			return errLooked
		}
		return nil
	})
	if err != nil {
		return nil
	}
	for _, p := range left {
		none = append(none, p.String())
	}
	return none
}

// errLooked ends a walk.
var errLooked = errors.New("no more is looked at")

// adviseFiles warns of patterns of guards and checks that match no file, and of paths of a scope that are not there.
func adviseFiles(p *project.Project, files []CheckedFile) {
	for i := range files {
		f := &files[i]
		if f.Loop == nil {
			continue
		}
		var more []fsm.Problem
		look := func(pos fsm.Pos, path, key string, patterns []glob.Pattern) {
			patterns = slices.DeleteFunc(slices.Clone(patterns), forAnyProject)
			for _, text := range unmatched(p.WorkDir(), patterns) {
				more = append(more,
					lint.MatchesNothing(pos, path, fmt.Sprintf("%s: %q matches no file of the project", key, text)))
			}
		}
		guard := func(pos fsm.Pos, path string, g *fsm.Guard) {
			if g != nil {
				look(pos, path, "guard.protect", g.Protect)
				look(pos, path, "guard.only", foldersMissing(p.WorkDir(), g.Only))
			}
		}
		l := f.Loop
		guard(l.Pos, "guard", l.Guard)
		for _, name := range l.Order {
			if st := l.States[name]; st != nil {
				guard(st.Pos, "states."+name+".guard", st.Guard)
			}
		}
		for name, st := range l.Checks() {
			look(st.Pos, "states."+name+".check", "check.files", st.Check.Files)
		}
		for _, path := range l.Scope {
			if strings.Contains(path, "${") {
				continue
			}
			full := path
			if !filepath.IsAbs(full) {
				full = filepath.Join(p.WorkDir(), full)
			}
			if _, err := os.Lstat(filepath.Dir(full)); errors.Is(err, fs.ErrNotExist) {
				more = append(more,
					lint.MatchesNothing(l.Pos, "scope",
						fmt.Sprintf("scope: %q is in a folder that is not there", path)))
			}
		}
		if len(more) > 0 {
			f.Problems = append(slices.Clip(f.Problems), more...)
			slices.SortStableFunc(f.Problems, project.ByPlace)
		}
	}
}

// forAnyProject reports whether a pattern is also for projects that have no such file, so that none is made: of
// any folder, of settings, or of the Makefile.
func forAnyProject(p glob.Pattern) bool {
	text := strings.TrimPrefix(p.String(), "./")
	return strings.HasPrefix(text, "**/") || strings.HasPrefix(text, ".") || strings.HasSuffix(text, "akefile")
}

// foldersMissing returns the patterns that begin with a folder which is not there: actions may make a file, and
// folders rarely.
func foldersMissing(root string, patterns []glob.Pattern) []glob.Pattern {
	return slices.DeleteFunc(slices.Clone(patterns), func(p glob.Pattern) bool {
		folder, _, nested := strings.Cut(strings.TrimPrefix(p.String(), "./"), "/")
		if !nested || strings.ContainsAny(folder, `*?[{\`) {
			return true
		}
		_, err := os.Lstat(filepath.Join(root, folder))
		return !errors.Is(err, fs.ErrNotExist)
	})
}
