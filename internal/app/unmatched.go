package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/lint"
	"loops/fsm/loopfile"
	"loops/internal/git"
)

// mostLooked is how many files are looked at for patterns. With more it is not known whether a pattern matches one.
const mostLooked = 50_000

// unmatched returns the patterns that match no file below a folder. Those of [loopfile.TestFiles] are none of
// them: they are for any project.
func unmatched(root string, patterns []glob.Pattern) (none []glob.Pattern) {
	left := slices.DeleteFunc(slices.Clone(patterns), func(p glob.Pattern) bool {
		return slices.Contains(loopfile.TestFiles(), p.String())
	})
	if len(left) == 0 {
		return nil
	}
	if err := eachPath(root, mostLooked, func(path string, _ bool) bool {
		left = slices.DeleteFunc(left, func(p glob.Pattern) bool { return p.Covers(path) })
		return len(left) > 0
	}); err != nil {
		return nil
	}
	return left
}

// coveredFiles returns the files below a folder that patterns cover, of the first so many; more says that there
// may be more.
func coveredFiles(root string, patterns []glob.Pattern, most int) (files []string, more bool) {
	err := eachPath(root, most, func(path string, folder bool) bool {
		if !folder && slices.ContainsFunc(patterns, func(p glob.Pattern) bool { return p.Covers(path) }) {
			files = append(files, path)
		}
		return true
	})
	return files, err != nil
}

// eachPath calls f with the path of what is below a folder, without what git and loops keep, until f returns false.
// The error says that not all was looked at.
func eachPath(root string, most int, f func(path string, folder bool) bool) error {
	seen := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
		if !f(filepath.ToSlash(rel), d.IsDir()) || seen > most {
			return errLooked
		}
		return nil
	})
}

// errLooked ends a walk.
var errLooked = errors.New("no more is looked at")

// unseen returns the patterns that match files which are all ignored by git, so that a guard sees none of them.
func unseen(p *project.Project, patterns []glob.Pattern) []glob.Pattern {
	patterns = slices.DeleteFunc(slices.Clone(patterns), func(p glob.Pattern) bool {
		return slices.Contains(loopfile.TestFiles(), p.String())
	})
	if len(patterns) == 0 || !p.InGit() {
		return nil
	}
	run := git.Command(git.Untied(engine.ActionEnv(p, engine.Options{Env: p.Env})), engine.GitWait(p))
	names, err := git.Seen(context.Background(), run, p.WorkDir())
	if err != nil {
		return nil // it is not known
	}
	left := patterns
	for _, name := range names {
		left = slices.DeleteFunc(left, func(p glob.Pattern) bool { return p.Covers(name) })
	}
	none := unmatched(p.WorkDir(), left)
	return slices.DeleteFunc(left, func(p glob.Pattern) bool { return has(none, p) })
}

func has(list []glob.Pattern, p glob.Pattern) bool {
	return slices.ContainsFunc(list, func(q glob.Pattern) bool { return q.String() == p.String() })
}

// adviseFiles warns of patterns of guards and checks that match no file, of those of guards that match only files
// which git ignores, and of paths of a scope that are not there.
func adviseFiles(p *project.Project, files []CheckedFile) {
	for i := range files {
		f := &files[i]
		if f.Loop == nil {
			continue
		}
		if more := adviseLoop(p, f.Loop); len(more) > 0 {
			f.Problems = append(slices.Clip(f.Problems), more...)
			slices.SortStableFunc(f.Problems, project.ByPlace)
		}
	}
}

func adviseLoop(p *project.Project, l *fsm.Loop) (all []fsm.Problem) {
	warn := func(near fsm.Pos, path []string, at int, why string) {
		path = append(slices.Clip(path), strconv.Itoa(at))
		if l.Place != nil {
			near = l.Place(0, path...)
		}
		all = append(all, lint.MatchesNothing(near, strings.Join(path, "."), why))
	}
	look := func(near fsm.Pos, patterns, wrong []glob.Pattern, what string, path ...string) {
		for i, pattern := range patterns {
			if has(wrong, pattern) {
				key := strings.Join(path[len(path)-2:], ".")
				warn(near, path, i, fmt.Sprintf("%s: %q matches %s", key, pattern.String(), what))
			}
		}
	}
	const noFile = "no file of the project"
	none := func(patterns []glob.Pattern) []glob.Pattern { return unmatched(p.WorkDir(), patterns) }
	ofProject := func(patterns []glob.Pattern) []glob.Pattern {
		return slices.DeleteFunc(slices.Clone(patterns), forAnyProject)
	}
	var walked []glob.Pattern // although git ignores what they match
	for _, st := range l.Checks() {
		walked = append(walked, st.Check.Files...)
	}
	guard := func(near fsm.Pos, g *fsm.Guard, path ...string) {
		if g == nil {
			return
		}
		protect, only := append(slices.Clip(path), "guard", "protect"), append(slices.Clip(path), "guard", "only")
		look(near, g.Protect, none(ofProject(g.Protect)), noFile, protect...)
		look(near, g.Only, none(foldersMissing(p.WorkDir(), g.Only)), noFile, only...)
		if l.Snapshots == nil || len(l.Snapshots.Include) == 0 {
			hidden := slices.DeleteFunc(unseen(p, g.Protect), func(p glob.Pattern) bool { return has(walked, p) })
			look(near, g.Protect, hidden, "only files that git ignores, and a guard does not see them", protect...)
		}
	}
	guard(l.Pos, l.Guard)
	for _, name := range l.Order {
		if st := l.States[name]; st != nil {
			guard(st.Pos, st.Guard, "states", name)
		}
	}
	for name, st := range l.Checks() {
		path := []string{"states", name, "check", "files"}
		if of, branch, in := strings.Cut(name, "."); in {
			path = append([]string{"states", of, "branches", branch}, path[2:]...)
		}
		look(st.Pos, st.Check.Files, none(ofProject(st.Check.Files)), noFile, path...)
	}
	for i, path := range l.Scope {
		if strings.Contains(path, "${") {
			continue
		}
		full := path
		if !filepath.IsAbs(full) {
			full = filepath.Join(p.WorkDir(), full)
		}
		if _, err := os.Lstat(filepath.Dir(full)); errors.Is(err, fs.ErrNotExist) {
			warn(l.Pos, []string{"scope"}, i, fmt.Sprintf("scope: %q is in a folder that is not there", path))
		}
	}
	return all
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
