// Package project opens a directory with a .loops folder: its settings, the loops that can be named in it, the
// definition of a loop as it is recorded with a run, and the store with its runs. It starts nothing and prints
// nothing. What is wrong is an error of a type of its own, in which paths are as a person in the project would
// write them.
//
// # Moved folders
//
// [RebasePaths] gives what a run remembers the paths that folders have now: of a project that was renamed or of
// a run that was taken to another machine, and of a fork, which has a working folder of its own. It sees no
// disk.
package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"loops/fsm/loopfile"
	"loops/internal/config"
	"loops/internal/git"
	"loops/persistence"
	"loops/reconcile"
)

// EnvCatalog names a folder of loops and libraries that every project may use.
const EnvCatalog = "LOOPS_CATALOG"

// Folder is what makes a directory a project.
const Folder = ".loops"

// Options say how a project is opened. The zero Options are those of a program in the project's directory.
type Options struct {
	Cwd string   // absolute; paths that people write are relative to it; "" = the working directory of the process
	Env []string // as os.Environ; nil = that of the process
	// where runs are recorded: dir, sqlite:PATH or postgres://…; "" = as the environment or the settings say
	Store string

	AllProjects bool // runs of all projects that record in the same database are shown; for programs that change none
}

// A Project is a directory that actions run in, with its .loops folder: settings, loops and recorded runs. It
// may be used by several goroutines at once.
type Project struct {
	Dir   string // absolute
	Loops string // Dir/.loops; need not exist
	Cwd   string // absolute; paths on the command line are relative to it
	Tree  string // work tree of git that the run's actions are in, absolute; "" = Dir, the main checkout
	Work  string // the project in Tree, absolute; "" = Dir
	Run   string // the run whose work tree Cwd is in, "" = none

	Catalog string        // folder of further loops; "" = none
	Layers  config.Layers // the files with what people declared about it
	Env     []string
	Store   string // as Options.Store

	AllProjects bool // as Options.AllProjects

	known *known // shared with the same project in its work trees
}

// A known is what was read of a project.
type known struct {
	mu   sync.Mutex
	lib  *Library     // guarded by mu; nil = not asked for yet
	conf *declaration // guarded by mu; nil = not read yet

	admitted map[persistence.ID]bool // guarded by mu: see Admit
}

// Open finds the project that dir is in: the nearest directory that has a .loops folder, upwards from dir.
// Without one it is dir itself, where a run makes .loops. In the work tree of a run it is the main checkout's.
// A relative dir is below o.Cwd, and "" is that. The error is a *DirError.
func Open(dir string, o Options) (*Project, error) {
	cwd, env := o.Cwd, o.Env
	if env == nil {
		env = os.Environ()
	}
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return nil, &DirError{"", err}
		}
	}
	start := cwd
	if dir != "" {
		start = dir
		if !filepath.IsAbs(start) {
			start = filepath.Join(cwd, start)
		}
		info, err := os.Stat(start)
		if err != nil {
			return nil, &DirError{dir, Cause(err)}
		}
		if !info.IsDir() {
			return nil, &DirError{dir, errors.New("not a directory")}
		}
	}
	start = filepath.Clean(start)
	inside, found := git.Around(start)
	if found {
		start = inside.Tree.Project() // the tree may have a .loops of its own, which nothing reads
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, Folder)); err == nil && info.IsDir() {
			start = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	p := &Project{
		Dir: start, Loops: filepath.Join(start, Folder), Cwd: cwd, Env: env, Store: o.Store,
		AllProjects: o.AllProjects, known: &known{},
	}
	home, _ := p.getenv("HOME")
	p.Layers = config.Layers{
		Reference: config.ReferenceFile(p.Dir), User: config.UserFile(p.getenv),
		Project: filepath.Join(p.Loops, config.Name),
		Dir:     p.Dir, Home: home,
	}
	p.Layers.ActionTypes, _ = p.getenv(config.EnvActionTypes)
	if found {
		p.Tree, p.Work, p.Run = inside.Tree.Path, inside.Tree.Dir(), inside.Run
	}
	if catalog, _ := p.getenv(EnvCatalog); catalog != "" {
		if p.Catalog = catalog; !filepath.IsAbs(catalog) {
			p.Catalog = filepath.Join(cwd, catalog)
		}
	} else if c, _ := p.Declared(); c != nil { // what is wrong with it, callers say that need it
		p.Catalog = c.Catalog
	}
	return p, nil
}

// getenv returns the value of a variable and whether it is set.
func (p *Project) getenv(name string) (string, bool) { return LookEnv(p.Env, name) }

// LookEnv finds a variable in an environment, the last one that is set.
func LookEnv(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// WorkDir returns the directory that actions run in.
func (p *Project) WorkDir() string { return cmp.Or(p.Work, p.Dir) }

// Main returns the project as its main checkout sees it, whatever work tree it was opened in.
func (p *Project) Main() *Project { return p.In("", "") }

// In returns the project with its actions in a work tree: tree is its folder, and work that of the project in
// it. Both "" are the main checkout.
func (p *Project) In(tree, work string) *Project {
	other := *p
	other.Tree, other.Work = tree, work
	return &other
}

// RunDir returns the working folder of a run, wherever it is recorded.
func (p *Project) RunDir(id persistence.ID) string { return filepath.Join(p.RunsDir(), string(id)) }

// RunsDir is the folder of the working folders.
func (p *Project) RunsDir() string { return filepath.Join(p.Loops, "runs") }

// Loader reads loops as they are now; it keeps what it has read.
func (p *Project) Loader() *loopfile.Loader {
	return &loopfile.Loader{Loops: p.Loops, Catalog: p.Catalog, Types: p.ActionTypes()}
}

// Resolve finds the file of a loop that a person names.
func (p *Project) Resolve(name string) (string, error) { return p.Loader().Resolve(name, p.Cwd) }

// AllShort returns paths as a person in the project would write them.
func (p *Project) AllShort(paths []string) (short []string) {
	for _, path := range paths {
		short = append(short, p.Short(path))
	}
	return short
}

// Short returns a path as a person in the project would write it.
func (p *Project) Short(path string) string {
	for _, base := range []string{p.Cwd, p.Dir} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// Mark distinguishes this project from all others of the machine in the environment markers of actions: a run elsewhere
// can have the same id.
func (p *Project) Mark() string {
	return markOf("", p.Loops)
}

// markOf is a mark of a path, whatever symlinks lead there, after a scheme, or of all else that an URL says.
func markOf(scheme, path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sum := sha256.Sum256([]byte(scheme + path))
	return hex.EncodeToString(sum[:8]) + "/"
}

// Cause returns the cause of a file error without the operation and the path, which the caller names.
func Cause(err error) error {
	type wrapper interface{ Unwrap() error }
	if w, ok := err.(wrapper); ok && w.Unwrap() != nil {
		return w.Unwrap()
	}
	return err
}

// Relative returns a path in the project as it is recorded, and any other as it is.
func (p *Project) Relative(path string) string {
	if rel, err := filepath.Rel(p.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Absolute returns a path that relative made.
func (p *Project) Absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// LogsDir returns the folder of the logs of runs in the background.
func (p *Project) LogsDir() string { return filepath.Join(p.Loops, "logs") }

// Queue returns the queue of the project.
func (p *Project) Queue() *persistence.Queue {
	q := persistence.ProjectQueue(p.Loops)
	q.Liveness = reconcile.OwnerAlive
	return q
}

// RetentionStamp is the file that says when retention was last applied.
func (p *Project) RetentionStamp() string { return filepath.Join(p.Loops, ".retention") }

// LogPath returns where the output of a run in the background is kept: there, and before that in NAME.1 up to NAME.3.
func (p *Project) LogPath(id persistence.ID) string {
	return filepath.Join(p.LogsDir(), string(id)+".log")
}

// Sub is where the project is in the work tree.
func (p *Project) Sub() string {
	rel, err := filepath.Rel(p.Tree, p.Work)
	if err != nil || rel == "." {
		return ""
	}
	return rel
}
