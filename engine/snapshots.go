package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// checkSnapshots refuses a run whose files are to be kept in git where there is none.
func (e *Engine) checkSnapshots(p *project.Project, l *fsm.Loop) error {
	if l.Snapshots == nil || l.Snapshots.Keep != fsm.SnapshotsGit || git.InGit(p.WorkDir()) {
		return nil
	}
	return refuse(Invalid, "snapshots: git needs a repository, and %s is in none; make one (git init), or "+
		"run without: %s", p.WorkDir(), Setting{SetSnapshots, fsm.SnapshotsOff})
}

// keepsSnapshots reports whether the files of a run are kept before and after its actions, and whether anything but a
// work tree of its own asks for that.
func (j *job) keepsSnapshots() (keep, asked bool) {
	if s := j.loop.Snapshots; s != nil {
		return s.Keep != fsm.SnapshotsOff, true
	}
	return j.tree != nil && j.tree.of == "", false
}

// snapshots keeps the files of a run as they are before and after each of its actions. A nil one keeps nothing.
type snapshots struct {
	run   persistence.ID
	dir   string // that actions work in, or in work trees inside; those that work elsewhere are left alone
	asked bool   // without a snapshot an action is not started
	first string // the tree of the files that it begins with; "" = they are as they are
	tell  func(Notice)
	walks *walks
	open  func(context.Context) (*git.Chain, error)

	mu     sync.Mutex
	chain  *git.Chain     // guarded by mu; nil = nothing was kept yet
	busy   map[string]int // actions at work by their folders, see [git.Snapshot]; guarded by mu
	warned bool           // guarded by mu

	endedMu sync.Mutex
	ended   map[string][]git.Snapshot // after actions that have ended, by their folders; guarded by endedMu
}

// snapshots returns what keeps the files of a run; nil = nothing does. elsewhere says that they are kept for other
// machines.
func (e *Engine) snapshots(j *job, r *Run, folders *walks, elsewhere bool) *snapshots {
	keep, asked := j.keepsSnapshots()
	if !keep {
		return nil
	}
	if elsewhere {
		if asked {
			j.tell(Said{
				Run: r.id,
				Text: textf("Its files are kept at each checkpoint for other machines, and not before and after " +
					"each action: loops undo has nothing of this run."),
			})
		}
		return nil
	}
	folders.include, folders.largest = walked(j.loop.Snapshots)
	return newSnapshots(j.project, undoEnv(j.project, e.o),
		&snapshots{run: r.id, asked: asked, first: filesOf(j.journal.Run()), tell: j.tell, walks: folders})
}

// newSnapshots returns what keeps the files of a run as s says, in the working folder of a project.
func newSnapshots(p *project.Project, env []string, s *snapshots) *snapshots {
	limit := GitWait(p)
	s.dir, s.busy, s.ended = p.WorkDir(), map[string]int{}, map[string][]git.Snapshot{}
	s.open = func(ctx context.Context) (*git.Chain, error) {
		c, err := git.OpenChain(ctx, git.Command(env, limit), s.dir, string(s.run))
		if err == nil {
			c.Batch(env, limit)
		}
		return c, err
	}
	return s
}

// largestFile is the size of the largest untracked file that is kept, unless a loop says otherwise.
const largestFile = 20_000_000

// walked returns which ignored files are kept, and how large an untracked one may be.
func walked(s *fsm.FileSnapshots) (include []string, largest int64) {
	if s == nil {
		return nil, largestFile
	}
	return s.Include, cmp.Or(s.MaxFile, largestFile)
}

// undoEnv is the environment of git that keeps and puts back files.
func undoEnv(p *project.Project, o Options) []string {
	return append(git.Untied(ActionEnv(p, o)), "GIT_OPTIONAL_LOCKS=0")
}

// A snapshotRunner keeps files around what an action does.
type snapshotRunner struct {
	*action.Runner
	next fsm.Runner
	s    *snapshots
}

func (s *snapshots) runner(r *action.Runner, next fsm.Runner) fsm.Runner {
	if s == nil {
		return next
	}
	return snapshotRunner{r, next, s}
}

// Run implements [fsm.Runner].
func (r snapshotRunner) Run(ctx context.Context, a fsm.Action, out func(text string)) (fsm.Result, error) {
	folder, covered := r.s.covers(a)
	if !covered {
		r.s.walks.shared("", false) // others may change files, too
		return r.next.Run(ctx, a, out)
	}
	step, again := fsm.ShownAddress(a.At), max(a.Attempt, a.Started) > 1
	began, err := r.s.before(ctx, folder, step, again)
	if err != nil && ctx.Err() == nil && r.s.asked {
		r.s.release(folder)
		return fsm.Result{}, err
	}
	defer func() {
		longer, done := beyondStop(ctx) // what an action did before it was stopped can be undone
		defer done()
		r.s.after(longer, folder, git.Snapshot{Step: step, When: git.After, Began: began})
	}()
	return r.next.Run(ctx, a, out)
}

// covers reports whether an action may change files that are kept, and of which folder, see [git.Snapshot].
func (s *snapshots) covers(a fsm.Action) (folder string, covered bool) {
	if a.At == "" || a.Kind == fsm.KindHTTP || a.Kind == fsm.KindJudge || a.Kind == fsm.KindContract {
		return "", false
	}
	folder, err := filepath.Rel(s.dir, a.Dir)
	if a.Dir == "" || err != nil || !strings.HasPrefix(folder, git.TreesFolder+"/") {
		return "", true
	}
	return folder, git.Linked(a.Dir) == nil // else the action is refused
}

// before keeps the files as they are before an action, and returns the commit that has them. Where the action was begun
// before, what differs is taken for what it did until it was cut short. What differs while others are at work
// is theirs.
func (s *snapshots) before(ctx context.Context, folder, step string, again bool) (commit string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.walks.shared(s.path(folder), false)
	s.busy[folder]++
	if last := s.last(folder); s.busy[folder] > 1 && last.Commit != "" {
		return last.Commit, nil
	}
	if folder != "" { // what it is merged into can be undone as well
		outer, _, _ := strings.Cut(step, "/")
		if err := s.ready(ctx); err == nil && s.last("").Commit == "" {
			if _, _, err := s.keep(ctx, "", false, git.Snapshot{Step: outer, When: git.Before}); err != nil {
				return "", err
			}
		}
	}
	when := git.Before
	if again {
		when = git.After
	}
	commit, _, err = s.keep(ctx, found, false, git.Snapshot{Step: step, When: when, Folder: folder})
	return commit, err
}

// release ends an action that was not started.
func (s *snapshots) release(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[folder]--
}

// after keeps the files as they are after an action. Actions that end while the files of others are kept share
// one look at the files, which begins after they have ended.
func (s *snapshots) after(ctx context.Context, folder string, shot git.Snapshot) {
	shot.Folder = folder
	s.endedMu.Lock()
	s.ended[folder] = append(s.ended[folder], shot)
	s.endedMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[folder]--
	s.endedMu.Lock()
	all := s.ended[folder]
	delete(s.ended, folder)
	s.endedMu.Unlock()
	if len(all) == 0 { // another action had its files kept, too
		return
	}
	path := s.path(folder)
	s.walks.shared(path, true) // it is not any more
	_, tree, err := s.keep(ctx, "", true, all...)
	if err == nil && s.busy[folder] == 0 { // an error was said
		s.walks.share(path, tree, true)
	}
}

// path returns the path of a folder whose files are kept.
func (s *snapshots) path(folder string) string { return filepath.Join(s.dir, folder) }

// last returns the newest snapshot of a folder. It is called under mu.
func (s *snapshots) last(folder string) (none git.Snapshot) {
	if s.chain == nil {
		return none
	}
	return s.chain.Last(folder)
}

// close ends what the snapshots started.
func (s *snapshots) close() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.chain.Close()
	}
}

// ready finds the snapshots that there are. It is called under mu.
func (s *snapshots) ready(ctx context.Context) (err error) {
	if s.chain == nil {
		s.chain, err = s.open(ctx)
	}
	return err
}

// tree returns the name of what is in a folder now. It is called under mu, after ready.
func (s *snapshots) tree(ctx context.Context, folder string) (string, error) {
	walk := s.walks.of(s.path(folder))
	if last := s.last(folder).Tree; last != "" {
		return walk.Tree(ctx, last)
	}
	return walk.Tree(ctx)
}

// keep adds snapshots of one folder with its files as they are now, and returns the last commit that has them,
// and their tree. Where nothing changed since the last one, it adds them only if always is true. found is the
// tree if it is known. An error is said once. It is called under mu.
func (s *snapshots) keep(ctx context.Context, found string, always bool, shots ...git.Snapshot) (commit, tree string,
	err error,
) {
	defer func() {
		if err != nil && ctx.Err() == nil && !s.warned {
			s.warned = true
			s.tell(Said{
				Run: s.run,
				Text: textf("The files of step %s were not kept, so that they cannot be put back: %s", shots[0].Step,
					humanize.OneLine(err)), Problem: true,
			})
		}
	}()
	if err := s.ready(ctx); err != nil {
		return "", "", err
	}
	folder := shots[0].Folder
	if tree = found; tree == "" {
		if tree, err = s.tree(ctx, folder); err != nil {
			return "", "", err
		}
	}
	for _, shot := range shots {
		last := s.last(folder)
		if commit = last.Commit; last.Tree == tree && !always {
			continue
		}
		if shot.Began == last.Commit {
			shot.Began = ""
		}
		if commit, err = s.chain.Add(ctx, tree, shot); err != nil {
			return "", "", err
		}
	}
	return commit, tree, nil
}
