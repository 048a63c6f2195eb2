package loopfile

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Entry is one loop definition of a directory.
type Entry struct {
	Name       string   `json:"name"` // what [Resolve] takes: the path below the directory without .yaml
	Loop       string   `json:"loop"` // the name in the file, by which its runs are recorded; Name where it has none
	Path       string   `json:"path"`
	Title      string   `json:"title"` // first line of the description
	Category   string   `json:"category,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Visibility string   `json:"visibility"`
	Problem    string   `json:"problem,omitempty"` // why it cannot run, as far as its top level shows
	Scheduled  bool     `json:"-"`                 // it has the key schedule, or inherits it
}

// Folders at the top of a loops directory that hold no definitions; those that begin with a dot hold none
// anywhere.
var notDefinitions = map[string]bool{"runs": true, "tmp": true, "lib": true, "baselines": true}

const maxFolders = 16 // inside each other

// List returns the loop definitions below loopsDir, sorted by name. It reads only the top level of each file,
// and of those it inherits from, and does not check the rest, so a file without a Problem may still not load.
// Files that define no loop, such as libraries of fragments, are left out. Links to folders are not followed.
// The error is that of reading loopsDir itself; it is an fs.ErrNotExist if there is no such directory.
func List(loopsDir string) ([]Entry, error) { return (&Loader{Loops: loopsDir}).List(loopsDir) }

// List is [List] of a folder whose loops may inherit from those of the project and of the catalog.
func (l *Loader) List(folder string) ([]Entry, error) {
	var files []Entry
	if err := walk(folder, "", 0, &files); err != nil {
		return nil, err
	}
	ls := lister{loader: l, headers: make(map[string]*header, len(files))}
	out := files[:0]
	for _, e := range files {
		if ls.describe(&e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// IsLoop reports whether a file is meant to be a loop, as [List] does: one that cannot be read or parsed is, so
// that users learn of it. A library of fragments is not, nor is a file of tests, nor are the settings of a project, be
// they empty or broken.
func IsLoop(path string) bool {
	if IsSuite(path) {
		return false
	}
	h := readHeader(path)
	return (h.broken() || h.meant()) && !(h.silent() && forProject(path))
}

// forProject reports whether a file of this name is one of the project's own files, which others read. It is a
// loop only if it says so.
func forProject(path string) bool {
	name := filepath.Base(path)
	return (name == "config.yaml" || name == "prices.yaml") && filepath.Base(filepath.Dir(path)) == ".loops"
}

// A lister lists one folder of loops.
type lister struct {
	loader  *Loader
	headers map[string]*header // of the files read so far, by path
}

func (l *lister) header(path string) *header {
	h := l.headers[path]
	if h == nil {
		h = readHeader(path)
		l.headers[path] = h
	}
	return h
}

// walk finds the files below a folder that may be definitions, without opening them.
func walk(root, rel string, depth int, out *[]Entry) error {
	return walkFiles(root, rel, depth, false, out)
}

// walkFiles is walk, or finds the files of tests instead.
func walkFiles(root, rel string, depth int, suites bool, out *[]Entry) error {
	items, err := os.ReadDir(filepath.Join(root, rel))
	if err != nil {
		return err
	}
	for _, item := range items {
		name := item.Name()
		at := filepath.Join(rel, name)
		if item.IsDir() {
			if strings.HasPrefix(name, ".") || depth == 0 && notDefinitions[name] || depth >= maxFolders {
				continue
			}
			// A folder that cannot be read hides its loops, not the others.
			_ = walkFiles(root, at, depth+1, suites, out)
			continue
		}
		if IsSuite(name) != suites {
			continue
		}
		if base, ok := strings.CutSuffix(at, ".yaml"); ok && !strings.HasPrefix(name, ".") {
			*out = append(*out,
				Entry{
					Name: filepath.ToSlash(base), Loop: filepath.ToSlash(base), Path: filepath.Join(root, at),
					Visibility: "public",
				})
		}
	}
	return nil
}

// describe fills in what the file says about itself. It reports whether the file is meant to be a loop.
func (l *lister) describe(e *Entry) bool {
	h := l.header(e.Path)
	e.Problem = h.problem
	if h.silent() && forProject(e.Path) {
		return false
	}
	if h.broken() {
		return true
	}
	if !h.meant() {
		return false
	}
	if e.Problem == "" && h.has("from") {
		h, e.Problem = l.inherit(e.Path, h)
	}
	if name := h.text["name"]; name != "" {
		e.Loop = name
	}
	e.Title, _, _ = strings.Cut(strings.TrimSpace(h.text["description"]), "\n")
	e.Title = printable(strings.TrimSpace(e.Title))
	e.Category, e.Labels = h.text["category"], h.labels
	if v := h.text["visibility"]; v != "" {
		e.Visibility = v
	}
	e.Scheduled = h.has("schedule")
	if e.Problem == "" {
		e.Problem = h.lacks()
	}
	if e.Problem == "" && h.startsNowhere() {
		e.Problem = "starts in " + quote(h.text["initial"]) + ", which is not a state"
	}
	return true
}

// inherit lays a header over that of the file it inherits from. It returns why that cannot be done.
func (l *lister) inherit(path string, h *header) (*header, string) {
	own := h
	for seen := []string{path}; h.has("from"); {
		name := h.text["from"]
		parent, err := l.loader.lookUp(name, path, path)
		switch {
		case name == "":
			return own, "inherits from nothing"
		case err != nil:
			if missing, ok := errors.AsType[*NotFoundError](err); ok && missing.self {
				return own, "inherits from itself"
			}
			return own, "inherits from " + quote(name) + ", which does not exist"
		case slices.Contains(seen, parent):
			return own, "inherits from itself, by way of " + quote(name)
		case len(seen) > MaxParents:
			return own, "inherits from too many files in a row"
		}
		path, h = parent, l.header(parent)
		if h.problem != "" {
			return own, "inherits from " + quote(name) + ", which has a mistake: " + h.problem
		}
		seen = append(seen, parent)
		own = own.over(h)
	}
	return own, ""
}

// cause is the reason of an error without the path, which a listing shows anyway.
func cause(path string, err error) string {
	if pe, ok := err.(*os.PathError); ok {
		return "cannot be read: " + pe.Err.Error()
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), path+" "), "is ")
}
