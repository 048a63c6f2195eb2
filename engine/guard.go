package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/persistence"
)

// walks are the folders that a run's actions change, by their paths: one [git.Walk] each. Methods may be called
// at once.
type walks struct {
	p   *project.Project
	env []string
	id  persistence.ID
	dir string // the working folder of the run

	// a sandbox keeps actions from changing loops and settings, so that what changes there is of others
	sparing bool
	below   []string // see [git.Walk.Below]
	include []string // see [git.Walk.Include]
	largest int64    // see [git.Walk.Largest]

	mu    sync.Mutex
	all   map[string]*git.Walk
	found map[string]foundFiles // what the guard or the snapshots found last, for the other of them, by the folder
}

// foundFiles are the files of a folder as they were found.
type foundFiles struct {
	tree  string
	acted bool // after an action, and not before it
	at    time.Time
}

// foundFor is how long what one of guard and snapshots found is the files for the other, if no action begins or ends. A
// user may change files meanwhile, and these changes are not those of an action.
const foundFor = 100 * time.Millisecond

// share leaves what the guard or the snapshots found in a folder to the other of them; "" is that of the run.
func (w *walks) share(dir, tree string, acted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found[w.path(dir)] = foundFiles{tree, acted, time.Now()}
}

// shared returns what was shared of a folder, once: all is forgotten. "" = the folder has to be walked.
func (w *walks) shared(dir string, acted bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.found[w.path(dir)]
	clear(w.found)
	if f.acted != acted || time.Since(f.at) > foundFor {
		return ""
	}
	return f.tree
}

// path returns the path of a folder; "" is that of the run.
func (w *walks) path(dir string) string {
	if dir == "" {
		return w.p.WorkDir()
	}
	return filepath.Clean(dir)
}

// close ends what the walks started.
func (w *walks) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, walk := range w.all {
		walk.Close()
	}
}

func (e *Engine) walks(j *job) *walks {
	w := newWalks(j.project, e.actionEnv(), j.journal.Run().ID, j.journal.Dir())
	w.sparing = keepsLoopFiles(j.loop)
	return w
}

func newWalks(p *project.Project, env []string, id persistence.ID, dir string) *walks {
	return &walks{p: p, env: env, id: id, dir: dir, all: map[string]*git.Walk{}, found: map[string]foundFiles{}}
}

// recordFiles returns the files that runs of a project are recorded in and that may be among those of a user: a
// database of SQLite.
func recordFiles(p *project.Project) []string {
	location, _, _ := p.Main().Location() // the store is open
	if path, ok := project.SQLiteFile(location); ok {
		return []string{path}
	}
	return nil
}

// of returns the Walk of a folder; "" is that of the run.
func (w *walks) of(dir string) *git.Walk {
	dir = w.path(dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	walk := w.all[dir]
	if walk == nil {
		sum := sha256.Sum256([]byte(dir))
		walk = git.NewWalk(w.env, GitWait(w.p), dir,
			filepath.Join(w.dir, persistence.WalkFolder, hex.EncodeToString(sum[:6])))
		walk.Apart, walk.Below, walk.Include, walk.Largest = recordFiles(w.p), w.below, w.include, w.largest
		w.all[dir] = walk
	}
	return walk
}

// A guardedTrees is what fsm.World.Trees is.
type guardedTrees struct{ *walks }

// needsGit returns what of a loop needs git to look at files; "" = nothing.
func needsGit(l *fsm.Loop) string {
	if guarded(l) {
		return "guard"
	}
	for _, st := range l.Checks() {
		if st.Check.Files != nil || st.Check.FailFirst {
			return "check"
		}
	}
	return ""
}

// guarded reports whether a loop, one of its states or a branch has a guard.
func guarded(l *fsm.Loop) bool {
	if l.Guard.Limits() {
		return true
	}
	for _, st := range l.States {
		if st.Guard.Limits() {
			return true
		}
		if st.Branches != nil {
			for _, b := range st.Branches.List {
				if b.State.Guard.Limits() {
					return true
				}
			}
		}
	}
	return false
}

// guardLine says what the actions of a loop may change; the zero Text where nothing limits that. What single states
// tighten is in their definition.
func guardLine(l *fsm.Loop) Text {
	switch text := l.Guard.String(); {
	case !guarded(l):
		return Text{}
	case text == "":
		return textf("of single states")
	default:
		return textf("%s", text)
	}
}

// Tree implements [fsm.Trees].
func (g guardedTrees) Tree(ctx context.Context, dir string) (string, error) {
	tree, err := g.of(dir).Tree(ctx)
	if err == nil {
		g.share(dir, tree, false)
	}
	return tree, err
}

// Changes implements [fsm.Trees].
func (g guardedTrees) Changes(ctx context.Context, dir, from string) (string, []fsm.FileChange, error) {
	ctx = context.WithoutCancel(ctx)
	w := g.of(dir)
	now := g.shared(dir, true)
	if now == "" {
		var err error
		if now, err = w.Tree(ctx, from); err != nil {
			return "", nil, err
		}
	}
	changes, err := w.Changes(ctx, from, now)
	if err != nil {
		return "", nil, err
	}
	files := make([]fsm.FileChange, 0, len(changes))
	for _, c := range changes {
		if !g.sparing || !isLoopFile(c.Path) {
			files = append(files, fsm.FileChange{Path: c.Path, Deleted: c.Kind == git.Deleted, Lines: c.Lines})
		}
	}
	return now, files, nil
}

// PutBack implements [fsm.Trees].
func (g guardedTrees) PutBack(ctx context.Context, dir, before string, b fsm.Breach) (string, error) {
	ctx = context.WithoutCancel(ctx)
	w := g.of(dir)
	message := fmt.Sprintf("guarded\n\n%s\n\nLoops-Run: %s\nLoops-Step: %s\n", b.Reason, g.id, b.At)
	kept, err := w.Keep(ctx, git.UndoRef(string(g.id)), b.After, message)
	if err == nil && !w.InRepository() {
		kept, err = w.Export(ctx, before, b.After, filepath.Join(g.dir, "breach"), "guard")
	}
	if err != nil {
		return "", err
	}
	if g.sparing {
		now, err := w.Tree(ctx, before)
		if err == nil {
			before, err = w.Replace(ctx, before, now, isLoopFile)
		}
		if err != nil {
			return "", err
		}
	}
	return kept, w.Restore(ctx, before)
}
