package loopfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"loops/fsm"
)

// A NotFoundError means that no loop file has a name. It is an [fs.ErrNotExist].
type NotFoundError struct {
	Name  string
	Tried []string // the files that were looked for
	Near  []string // names of loops that are like it, the most likely first
	Odd   string   // why one of these files, which exists, is not a loop: "lib/x.yaml is a directory"; "" = none exists

	self           bool     // the file that asks has the name
	names, folders []string // Tried, as names in folders; empty where it is no such product
}

func (e *NotFoundError) Error() string {
	if strings.TrimSpace(e.Name) == "" {
		return "a loop needs a name"
	}
	return "no loop called " + quote(e.Name) + e.where()
}

// where returns what was looked for and what may have been meant.
func (e *NotFoundError) where() string {
	msg := ""
	switch {
	case len(e.names) > 0 && len(e.folders) > 0:
		msg = " (looked for " + strings.Join(e.names, " and ") + " in " + and(e.folders) + ")"
	case len(e.Tried) > 0:
		msg = " (looked for " + strings.Join(e.Tried, ", ") + ")"
	}
	if e.Odd != "" {
		msg += "; " + e.Odd
	}
	if len(e.Near) > 0 {
		msg += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return msg
}

// Is makes errors.Is(err, fs.ErrNotExist) true.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// look returns the first of some files that is a regular one, or a link to one. A file that is there but cannot be
// looked at is an error.
func (e *NotFoundError) look(paths ...string) (string, error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err == nil && info.Mode().IsRegular() && IsSuite(p):
			e.Odd = cmp.Or(e.Odd, p+" holds tests of a loop")
		case err == nil && info.Mode().IsRegular():
			return p, nil
		case errors.Is(err, fs.ErrPermission):
			return "", err
		case err == nil && e.Odd == "":
			e.Odd = p + " is " + irregular(info)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && e.Odd == "":
			e.Odd = p + " " + cause(p, err)
		}
		e.Tried = append(e.Tried, p)
	}
	return "", nil
}

// Resolve finds the file of a loop that a user names. A name with a path separator or the suffix .yaml or .yml is
// first tried as a path, relative to cwd. Then it is NAME.fsm.yaml or NAME.yaml in the project's folder, and at last
// in the catalog; there a name may have parts (team/deploy) but cannot leave the folder. Only regular files, and
// links to them, are found. The error is a *[NotFoundError], or that of a file that cannot be looked at.
func (l *Loader) Resolve(name, cwd string) (path string, err error) {
	missing := &NotFoundError{Name: name}
	var candidates []string
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) || hasYAMLSuffix(name) {
		p := name
		if !filepath.IsAbs(p) {
			p = filepath.Join(cwd, p)
		}
		candidates = append(candidates, p)
	}
	if filepath.IsLocal(name) && !strings.ContainsRune(name, 0) {
		for _, dir := range []string{l.Loops, l.Catalog} {
			if dir != "" {
				p := filepath.Join(dir, filepath.FromSlash(name))
				candidates = append(candidates, p+".fsm.yaml", p+".yaml")
			}
		}
	}
	if path, err = missing.look(candidates...); path != "" || err != nil {
		return path, err
	}
	missing.Near = l.nearNames(name)
	return "", missing
}

// Named returns the file of the loop of the project or the catalog that has exactly this name, "" if none has.
// A path is no name, and a library is no loop.
func (l *Loader) Named(name string) string {
	if name == "" || hasYAMLSuffix(name) || !filepath.IsLocal(name) || filepath.Clean(name) != name ||
		strings.ContainsRune(name, 0) {
		return ""
	}
	for _, dir := range []string{l.Loops, l.Catalog} {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if path, err := new(NotFoundError).look(file+".fsm.yaml", file+".yaml"); path != "" && err == nil {
			if !IsLoop(path) {
				return ""
			}
			return path
		}
	}
	return ""
}

// Near returns names of loops, or the path of one, that a user may have meant: at most three, the most likely first.
func (l *Loader) Near(name, cwd string) []string {
	_, err := l.Resolve(name, cwd)
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		return missing.Near
	}
	if err != nil {
		return nil
	}
	return []string{name}
}

// Child finds the file of a loop that a state of another one runs. The name is looked up in the folder of the file
// that it is in; then in the folders above it, up to the project's folder of loops or the catalog, whichever
// the file is in, and otherwise up to the folder that holds .git or is called .loops; then in the project's folder;
// then in the catalog. If the text was inherited or comes from a fragment, the folders of the file that did so
// follow its own. In each folder the file is NAME.fsm.yaml or NAME.yaml; a name that ends in .yaml or .yml is that of
// the file itself. The working directory does not matter. The error is as for [Loader.Resolve].
func (l *Loader) Child(name string, from *fsm.Loop) (path string, err error) {
	return l.search(name, "", append(textsOf(from, name), from.File)...)
}

// textsOf returns the files in which the names of a loop's sub-loops stand. If one of them is this name it is its
// file alone, else those of the templates that it may have come from.
func textsOf(from *fsm.Loop, name string) (files []string) {
	if from.Place == nil {
		return nil
	}
	for _, n := range from.Order {
		if s := from.States[n]; s.Loop == name {
			return []string{from.Place(0, "states", n, "loop").File}
		} else if strings.Contains(s.Loop, "${") {
			if f := from.Place(0, "states", n, "loop").File; !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files
}

// search finds what a name in the first of these files means. The file except is not found.
func (l *Loader) search(name, except string, files ...string) (string, error) {
	path, err := l.lookUp(name, except, files...)
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		l.suggest(missing, files)
	}
	return path, err
}

// suggest adds names that may have been meant.
func (l *Loader) suggest(missing *NotFoundError, files []string) {
	missing.Near = nearFiles(missing.Name, l.folders(missing.Name, files))
	if len(missing.Near) == 0 {
		missing.Near = l.nearNames(missing.Name)
	}
}

// lookUp is search without suggestions, for which it would have to look at every name there is.
func (l *Loader) lookUp(name, except string, files ...string) (string, error) {
	missing := &NotFoundError{Name: name}
	if name == "" || strings.ContainsRune(name, 0) || strings.HasSuffix(name, "/") {
		return "", missing
	}
	missing.names = []string{name + ".fsm.yaml", name + ".yaml"}
	if hasYAMLSuffix(name) {
		missing.names = []string{name}
	}
	folders := []string{""}
	if !filepath.IsAbs(name) {
		folders = l.folders(name, files)
	}
	for _, dir := range folders {
		for _, n := range missing.names {
			p := filepath.Join(dir, filepath.FromSlash(n))
			if p == except {
				missing.self = true
				continue
			}
			if path, err := missing.look(p); path != "" || err != nil {
				return path, err
			}
		}
		if dir != "" {
			missing.folders = append(missing.folders, l.short(dir))
		}
	}
	return "", missing
}

// folders returns where a name is looked for that is in these files.
func (l *Loader) folders(name string, files []string) []string {
	var out []string
	add := func(dir string) {
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, f := range files {
		add(filepath.Dir(f))
		// A name that leads upwards means one folder.
		if filepath.IsLocal(name) {
			for _, dir := range l.above(filepath.Dir(f)) {
				add(dir)
			}
		}
	}
	add(l.Loops)
	add(l.Catalog)
	return out
}

const maxAbove = 8 // folders above that of a file in no project that are looked at

// above returns the folders above one that names in its files may mean, the nearest first.
func (l *Loader) above(dir string) []string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out, known := l.uppers[dir]
	if !known {
		out = climb(dir, l.Loops, l.Catalog)
		if l.uppers == nil {
			l.uppers = map[string][]string{}
		}
		l.uppers[dir] = out
	}
	return out
}

func climb(dir, loops, catalog string) []string {
	for _, root := range []string{loops, catalog} {
		if out, ok := climbTo(root, dir); ok {
			return out
		}
	}
	project := ""
	if abs, err := filepath.Abs(loops); err == nil && loops != "" {
		project = filepath.Dir(abs)
	}
	var out []string
	for len(out) < maxAbove && dir != project && filepath.Base(dir) != ".loops" {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
		// What other users may put into a shared folder is not meant, nor is what lies at the top of the file system.
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o002 != 0 || dir == filepath.Dir(dir) {
			break
		}
		out = append(out, dir)
	}
	return out
}

// climbTo returns the folders above dir, up to root. It reports whether dir is root or inside it.
func climbTo(root, dir string) ([]string, bool) {
	top, err := filepath.Abs(root)
	if err != nil || root == "" {
		return nil, false
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, false
	}
	var out []string
	for rel != "." {
		rel = filepath.Dir(rel)
		out = append(out, filepath.Join(root, rel)) // as the root is written
	}
	return out, true
}

// short is a folder as users in the project write it.
func (l *Loader) short(dir string) string {
	if l.Loops == "" || !filepath.IsAbs(dir) {
		return dir
	}
	abs, err := filepath.Abs(l.Loops)
	if err != nil {
		return dir
	}
	if rel, err := filepath.Rel(filepath.Dir(abs), dir); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return dir
}

// shown is a position inside a message, with its file as users in the project write it, or as seen from the
// folder of the main file.
func (d *decoder) shown(pos fsm.Pos) string {
	if d.loader != nil && filepath.IsAbs(pos.File) {
		pos.File = d.loader.short(pos.File)
	}
	if filepath.IsAbs(pos.File) && filepath.IsAbs(d.main.name) {
		if rel, err := filepath.Rel(filepath.Dir(d.main.name), pos.File); err == nil && filepath.IsLocal(rel) {
			pos.File = rel
		}
	}
	return pos.String()
}

func hasYAMLSuffix(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// nearFiles returns the name of a file in one of these folders, written as the name was.
func nearFiles(name string, folders []string) []string {
	const most = 1000 // files of a folder that are looked at
	dir, base := filepath.Split(filepath.FromSlash(name))
	for _, folder := range folders {
		// a pipe would keep us waiting
		f, err := os.OpenFile(filepath.Join(folder, dir), os.O_RDONLY|syscall.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		items, _ := f.Readdirnames(most)
		f.Close()
		slices.Sort(items)
		var words []string
		for _, n := range items {
			if !hasYAMLSuffix(n) || strings.HasPrefix(n, ".") || IsSuite(n) {
				continue
			}
			if !hasYAMLSuffix(name) {
				n = strings.TrimSuffix(strings.TrimSuffix(n, filepath.Ext(n)), ".fsm")
			}
			words = append(words, n)
		}
		if s := near(base, words); s != "" {
			return []string{filepath.ToSlash(dir) + s}
		}
	}
	return nil
}

// nearNames returns up to three loops of the project and the catalog with a name like this one.
func (l *Loader) nearNames(name string) []string {
	bare := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), ".fsm")
	if !hasYAMLSuffix(name) {
		bare = name
	}
	var names, out []string
	for _, dir := range []string{l.Loops, l.Catalog} {
		if dir == "" {
			continue
		}
		var files []Entry
		_ = walk(dir, "", 0, &files)
		for _, e := range files {
			names = append(names, e.Name)
			// A file suffix or a missing folder is no typing mistake, but easily made.
			if (e.Name == bare || filepath.Base(e.Name) == bare) && !slices.Contains(out, e.Name) {
				out = append(out, e.Name)
			}
		}
	}
	for len(out) < 3 {
		s := near(bare, names)
		if s == "" {
			break
		}
		out = append(out, s)
		names = slices.DeleteFunc(names, func(n string) bool { return n == s })
	}
	return out[:min(3, len(out))]
}
