package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A repository is where git keeps what it knows of a work tree.
type repository struct {
	link   string // the file .git of the work tree; "" = .git is a folder, or that of a folder around it
	own    string // folder of this work tree; "" = there is no repository
	common string // folder of all its work trees; of the main checkout the same as own
}

// gitSettings are the files of git that name programs, or where git looks for its files.
var gitSettings = []string{"hooks", "config", "config.worktree", "commondir", "gitdir"}

// markFile says in the folder of a work tree which run has it.
const markFile = "loops-run"

// findRepository returns the repository that dir belongs to. A file .git counts only where the folder that it names
// leads back to it: an action may have written it.
func findRepository(start string) (r repository) {
	for dir := start; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		st, err := os.Lstat(path)
		switch {
		case err == nil && st.IsDir():
			return repository{own: path, common: path}
		case err == nil && st.Mode().IsRegular():
			own, ok := strings.CutPrefix(readLine(path), "gitdir: ")
			if !ok {
				return repository{}
			}
			own = absolute(own, dir)
			if !leadsBack(own, path, st) {
				return repository{}
			}
			r := repository{link: path, own: own, common: own}
			if common := readLine(filepath.Join(own, "commondir")); common != "" {
				r.common = absolute(common, own)
			}
			return r
		case err == nil || dir == filepath.Dir(dir):
			return repository{}
		}
	}
}

// leadsBack reports whether a folder of git says that it belongs to the work tree with this file .git.
func leadsBack(own, path string, st os.FileInfo) bool {
	if link := readLine(filepath.Join(own, "gitdir")); link != "" { // of a work tree
		back, err := os.Stat(absolute(link, own))
		return err == nil && os.SameFile(back, st)
	}
	b, err := os.ReadFile(filepath.Join(own, "config")) // of a submodule
	if err != nil {
		return false
	}
	tree, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false
	}
	for text := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(text, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "worktree") {
			continue
		}
		if back, err := os.Stat(absolute(strings.TrimSpace(value), own)); err == nil && os.SameFile(back, tree) {
			return true
		}
	}
	return false
}

// writes returns the folders of the repository that commits are written to.
func (r repository) writes() []string {
	if r.own == "" {
		return nil
	}
	return slices.Concat(realPaths(r.own), realPaths(r.common))
}

// protected returns what may not be changed of the repository. Of frozen, what is there and what comes to be there is
// protected where mounts can be made; protected names what of it is checked where they cannot.
func (r repository) protected(dir string) (protected, frozen []string) {
	if r.own == "" {
		return nil, nil
	}
	add := func(path string) {
		for _, one := range realPaths(path) {
			if !slices.Contains(protected, one) {
				protected = append(protected, one)
			}
		}
	}
	if r.link != "" {
		add(r.link)
		frozen = append(frozen, filepath.Join(r.own, markFile))
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil { // git would work on this one instead
		add(filepath.Join(dir, ".git"))
	}
	for _, folder := range r.writes() {
		for _, name := range gitSettings {
			add(filepath.Join(folder, name))
		}
		trees := filepath.Join(folder, "worktrees")
		frozen = append(frozen, trees)
		entries, _ := os.ReadDir(trees)
		for _, e := range entries {
			for _, name := range gitSettings {
				add(filepath.Join(trees, e.Name(), name))
			}
		}
		modules := filepath.Join(folder, "modules")
		frozen = append(frozen, modules)
		for _, module := range submodules(modules) {
			for _, name := range gitSettings {
				add(filepath.Join(module, name))
			}
		}
	}
	return protected, frozen
}

// submodules returns the folders of git below a folder; names of submodules may have slashes.
func submodules(dir string) (found []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
			found = append(found, submodules(path)...)
			continue
		}
		found = append(append(found, path), submodules(filepath.Join(path, "modules"))...)
	}
	return found
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readLine returns the text of a small file without blanks around it; "" = it cannot be read.
func readLine(path string) string {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > keptFile {
		return ""
	}
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}
