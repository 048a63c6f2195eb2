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
	return refuse(Invalid, "snapshots: git needs a repository, and %s is in none; make one (git init), or run without: %s", p.WorkDir(), Setting{SetSnapshots, fsm.SnapshotsOff})
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
	dir   string // that actions work in; those that work elsewhere are left alone
	asked bool   // without a snapshot an action is not started
	first string // the tree of the files that it begins with; "" = they are as they are
	tell  func(Notice)
	walk  *git.Walk
	walks *walks // that has it
	open  func(context.Context) (*git.Chain, error)

	mu     sync.Mutex
	chain  *git.Chain // guarded by mu; nil = nothing was kept yet
	busy   int        // actions at work; guarded by mu
	warned bool       // guarded by mu
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
			j.tell(Said{Run: r.id, Text: textf("Its files are kept at each checkpoint for other machines, and not before and after each action: loops undo has nothing of this run.")})
		}
		return nil
	}
	env, limit := undoEnv(j.project, e.o), GitWait(j.project)
	s := &snapshots{run: r.id, dir: j.project.WorkDir(), asked: asked, first: filesOf(j.journal.Run()), tell: j.tell, walk: folders.of(""), walks: folders}
	s.walk.Apart = recordFiles(j.project)
	s.walk.Include, s.walk.Largest = walked(j.loop.Snapshots)
	s.open = func(ctx context.Context) (*git.Chain, error) {
		return git.OpenChain(ctx, git.Command(env, limit), s.dir, string(r.id))
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
	if !r.s.covers(a) {
		r.s.walks.shared(false) // others may change files, too
		return r.next.Run(ctx, a, out)
	}
	step, again := fsm.ShownAddress(a.At), max(a.Attempt, a.Started) > 1
	began, err := r.s.before(ctx, step, again)
	if err != nil && ctx.Err() == nil && r.s.asked {
		r.s.release()
		return fsm.Result{}, err
	}
	defer func() {
		longer, done := beyondStop(ctx) // what an action did before it was stopped can be undone
		defer done()
		r.s.after(longer, step, began, a.Item != "")
	}()
	return r.next.Run(ctx, a, out)
}

// covers reports whether an action may change the files that are kept.
func (s *snapshots) covers(a fsm.Action) bool {
	if a.At == "" || a.Kind == fsm.KindHTTP || a.Kind == fsm.KindJudge || a.Kind == fsm.KindContract {
		return false
	}
	rel, err := filepath.Rel(s.dir, a.Dir)
	return a.Dir == "" || err == nil && !strings.HasPrefix(rel+"/", git.TreesFolder+"/")
}

// before keeps the files as they are before an action, and returns the commit that has them. Where the action was begun
// before, what differs is taken for what it did until it was cut short. What differs while others are at work is theirs.
func (s *snapshots) before(ctx context.Context, step string, again bool) (commit string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.walks.shared(false)
	s.busy++
	if s.busy > 1 && s.chain != nil {
		return s.chain.Last().Commit, nil
	}
	when := git.Before
	if again {
		when = git.After
	}
	commit, _, err = s.keep(ctx, found, git.Snapshot{Step: step, When: when})
	return commit, err
}

// release ends an action that was not started.
func (s *snapshots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
}

// after keeps the files as they are after an action that began with the files of a commit. Items of a list that are
// scripts may be many and short: side by side they share a snapshot, once none is at work.
func (s *snapshots) after(ctx context.Context, step, began string, item bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walks.shared(true) // it is not any more
	if s.busy--; item && s.busy > 0 {
		return
	}
	_, tree, err := s.keep(ctx, "", git.Snapshot{Step: step, When: git.After, Began: began}) // an error was said
	if err == nil && s.busy == 0 {
		s.walks.share(tree, true)
	}
}

// ready finds the snapshots that there are. It is called under mu.
func (s *snapshots) ready(ctx context.Context) (err error) {
	if s.chain == nil {
		s.chain, err = s.open(ctx)
	}
	return err
}

// tree returns the name of what is in the folder now. It is called under mu, after ready.
func (s *snapshots) tree(ctx context.Context) (string, error) {
	if last := s.chain.Last().Tree; last != "" {
		return s.walk.Tree(ctx, last)
	}
	return s.walk.Tree(ctx)
}

// keep adds a snapshot unless nothing changed since the last one, and returns the commit that has the files, and their
// tree. found is that tree if it is known. An error is said once. It is called under mu.
func (s *snapshots) keep(ctx context.Context, found string, shot git.Snapshot) (commit, tree string, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil && !s.warned {
			s.warned = true
			s.tell(Said{Run: s.run, Text: textf("The files of step %s were not kept, so that they cannot be put back: %s", shot.Step, humanize.OneLine(err)), Problem: true})
		}
	}()
	if err := s.ready(ctx); err != nil {
		return "", "", err
	}
	if tree = found; tree == "" {
		if tree, err = s.tree(ctx); err != nil {
			return "", "", err
		}
	}
	last := s.chain.Last()
	if last.Tree == tree {
		return last.Commit, tree, nil
	}
	if shot.Began == last.Commit {
		shot.Began = ""
	}
	commit, err = s.chain.Add(ctx, tree, shot)
	return commit, tree, err
}
