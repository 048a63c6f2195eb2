package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"loops/fsm/loopfile"
	"loops/internal/config"
	"loops/internal/worktree"
	"loops/persistence"
)

// envCatalog names a folder of loops and libraries that every project may use.
const envCatalog = "LOOPS_CATALOG"

// folder is what makes a directory a project.
const folder = ".loops"

// A project is where a command works: the directory that actions run in, and its .loops folder.
type project struct {
	Dir   string // absolute
	Loops string // Dir/.loops; need not exist
	Cwd   string // absolute; paths on the command line are relative to it
	Tree  string // work tree of git that the run's actions are in, absolute; "" = Dir, the main checkout
	Work  string // the project in Tree, absolute; "" = Dir
	run   string // the run whose work tree this command is in, "" = none

	catalog string // folder of further loops; "" = none

	layers config.Layers // the files with what people declared about it
}

// project finds the project: the nearest directory that has a .loops folder, upwards from -C or the working
// directory. Without one it is the directory itself, where a run makes .loops. In the work tree of a run it is the main
// checkout's.
func (a *app) project() (project, error) {
	cwd := a.Dir
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return project{}, failure(exitNotFound, "the working directory is gone: %v", err)
		}
	}
	start := cwd
	if a.dir != "" {
		start = a.dir
		if !filepath.IsAbs(start) {
			start = filepath.Join(cwd, start)
		}
		info, err := os.Stat(start)
		if err != nil {
			return project{}, usageError{fmt.Sprintf("-C %s: %v", a.dir, errnoText(err)), "loops --help"}
		}
		if !info.IsDir() {
			return project{}, usageError{fmt.Sprintf("-C %s: not a directory", a.dir), "loops --help"}
		}
	}
	start = filepath.Clean(start)
	inside, found := worktree.Around(start)
	if found {
		start = inside.Tree.Project() // the tree may have a .loops of its own, which nobody reads
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, folder)); err == nil && info.IsDir() {
			start = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	p := project{Dir: start, Loops: filepath.Join(start, folder), Cwd: cwd}
	p.layers = a.layers(p)
	if found {
		p.Tree, p.Work, p.run = inside.Tree.Path, inside.Tree.Dir(), inside.Run
	}
	if catalog, _ := a.getenv(envCatalog); catalog != "" {
		if p.catalog = catalog; !filepath.IsAbs(catalog) {
			p.catalog = filepath.Join(cwd, catalog)
		}
	} else if c, _ := a.declared(p); c != nil { // what is wrong with it, commands say that need it
		p.catalog = c.Catalog
	}
	return p, nil
}

// work returns the directory that actions run in.
func (p project) work() string { return cmp.Or(p.Work, p.Dir) }

// main returns the project as its main checkout sees it, wherever in it this command is.
func (p project) main() project {
	p.Tree, p.Work = "", ""
	return p
}

// runDir returns the working folder of a run, wherever it is recorded.
func (p project) runDir(id persistence.ID) string { return filepath.Join(p.runs(), string(id)) }

// runs is the folder of the working folders.
func (p project) runs() string { return filepath.Join(p.Loops, "runs") }

// loader reads loops as they are now; it keeps what it has read.
func (p project) loader() *loopfile.Loader {
	return &loopfile.Loader{Loops: p.Loops, Catalog: p.catalog}
}

// resolve finds the file of a loop that a person names.
func (p project) resolve(name string) (string, error) { return p.loader().Resolve(name, p.Cwd) }

// short returns a path as a person in the project would write it.
func (p project) short(path string) string {
	for _, base := range []string{p.Cwd, p.Dir} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// mark tells this project from all others of the machine in the environment markers of actions: a run elsewhere
// can have the same id.
func (p project) mark() string {
	return markOf("", p.Loops)
}

// markOf is a mark of a path, whatever symlinks lead there, behind a scheme, or of all else that an URL says.
func markOf(scheme, path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sum := sha256.Sum256([]byte(scheme + path))
	return hex.EncodeToString(sum[:8]) + "/"
}

// errnoText returns the cause of a file error without the operation and the path, which the caller names.
func errnoText(err error) error {
	type wrapper interface{ Unwrap() error }
	if w, ok := err.(wrapper); ok && w.Unwrap() != nil {
		return w.Unwrap()
	}
	return err
}
