package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/config"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// restOfTrees is how long a worker rests between two looks for work trees that no run needs.
const restOfTrees = 10 * time.Minute

// A carrier has the files of runs travel through a repository of git: files.mode git. nil = they do not.
type carrier struct {
	config.Files
	machine string // see ChildFiles
	mirror  *git.Mirror
	limit   time.Duration // of one command of git
}

// modeOf is how files get to the workers of a project: as its settings say, else through git where it has no loops.
func modeOf(p *project.Project, f config.Files) string {
	if f.Mode != "" {
		return f.Mode
	}
	if info, err := os.Stat(p.Loops); err == nil && info.IsDir() {
		return persistence.FilesPinned
	}
	return persistence.FilesGit
}

// carrierOf returns the carrier of a worker.
func carrierOf(ctx context.Context, p *project.Project, env []string) (*carrier, error) {
	c, err := p.Config()
	if err != nil {
		return nil, err
	}
	if modeOf(p, c.Files) != persistence.FilesGit {
		return nil, nil
	}
	if c.Files.Remote == "" {
		why := "this folder is in no project"
		if c.Files.Mode != "" {
			why = "files.mode is git"
		}
		return nil, engine.Refuse(engine.Usage, "%s, and files.remote is not set: start the worker in a checkout of "+
			"the project without files.mode: git, or set files.remote to a repository of git in %s", why,
			p.Short(p.Layers.User))
	}
	return openCarrier(ctx, p, c.Files, env)
}

func openCarrier(ctx context.Context, p *project.Project, f config.Files, env []string) (*carrier, error) {
	machine := config.StateDir(func(name string) (string, bool) { return project.LookEnv(env, name) }, "files")
	if machine == "" {
		return nil, engine.Refuse(engine.Failed, "the home folder is not known, where the files of runs are kept: "+
			"set HOME or XDG_STATE_HOME")
	}
	if err := os.MkdirAll(machine, 0o700); err != nil {
		return nil, err
	}
	m, err := git.OpenMirror(ctx, git.Command(env, engine.GitWait(p)), machine, f.Remote)
	if err != nil {
		return nil, err
	}
	m.Refuses = engine.LoginRefused
	return &carrier{f, machine, m, engine.GitWait(p)}, nil
}

// send has the process of a run find the files, which are on this machine when it returns.
func (c *carrier) send(ctx context.Context, h *Handover, store persistence.Store, p persistence.Placed,
	asked *engine.FilesRequest,
) error {
	f := &ChildFiles{GitTimeout: c.limit, Remote: c.Remote, Machine: c.machine, Run: string(p.Run), Include: c.Include}
	if asked != nil {
		f.Commit, f.Folder = asked.Commit, asked.Folder
	}
	recorded, err := engine.RecordedFiles(ctx, store, p.Run)
	if err != nil {
		return err
	}
	if recorded.State != "" {
		f.Commit = recorded.State
	}
	if f.Commit == "" {
		if f.Commit, err = c.mirror.Tip(ctx, c.Branch); err != nil {
			return err
		}
	}
	h.Files, h.Project = f, ""
	run := f.Run
	// it begins with the files of the run that it repeats
	if o := p.State.Origin; o != nil && p.State.Status == persistence.Queued {
		run = string(o.ID)
	}
	return c.mirror.Fetch(ctx, run, f.Commit)
}

// sayLeft says which files of a run that has ended were not kept.
func (w *worker) sayLeft(ctx context.Context, id persistence.ID) {
	if w.files == nil {
		return
	}
	kept, err := engine.RecordedFiles(ctx, w.store, id)
	w.trouble(err)
	if kept.Left != "" {
		w.Say("Run %s: not kept for other machines, and removed with its work tree when it is completed: %s.", id,
			kept.Left)
	}
}

// tidy removes the work trees of runs that are completed, and merged where they asked for it, or were removed.
// A run that this database does not have may be of another one, as long as the remote keeps something of it.
func (w *worker) tidy(ctx context.Context) error {
	runs, err := w.files.mirror.Runs()
	if err != nil {
		return err
	}
	for _, run := range runs {
		all, err := w.store.Placed(ctx, persistence.ID(run), 0)
		if err != nil {
			return err
		}
		needed := len(all) > 0 && (all[0].State.Status != persistence.Completed || all[0].State.Unmerged())
		if len(all) == 0 {
			if needed, err = w.files.mirror.Kept(ctx, run); err != nil {
				return err
			}
		}
		if needed {
			continue
		}
		if err := w.files.mirror.RemoveTrees(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// A Keeper keeps the files of a run, in its process.
type Keeper struct {
	tree   *git.RefTree
	mirror *git.Mirror
}

// Settle brings the files of a run to the state in which it begins or continues, and has the handover work in
// them. A nil Keeper means that they do not travel.
func Settle(ctx context.Context, h *Handover, env []string) (*Keeper, error) {
	f := h.Files
	if f == nil {
		return nil, nil
	}
	if f.Folder != "" && !filepath.IsLocal(f.Folder) {
		return nil, engine.Refuse(engine.Usage, "the folder %s of the project is not in the repository",
			humanize.Quote(f.Folder))
	}
	m, err := git.OpenMirror(ctx, git.Command(env, f.GitTimeout), f.Machine, f.Remote)
	if err != nil {
		return nil, err
	}
	m.Refuses = engine.LoginRefused
	own := project.OwnFiles()
	for i := range own {
		own[i] = filepath.Join(f.Folder, own[i])
	}
	tree, err := m.Tree(ctx, f.Run, f.Commit, f.Include, own)
	if err != nil {
		return nil, err
	}
	h.Dir = filepath.Join(tree.Dir, f.Folder)
	top, err := os.OpenRoot(tree.Dir) // no link leads out of it
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	defer top.Close()
	if info, err := top.Stat(filepath.Join(f.Folder, project.Folder)); err != nil || !info.IsDir() {
		return nil, errors.Join(engine.Refuse(engine.NotFound, "commit %.12s of %s has no folder %s", f.Commit,
			f.Remote, filepath.Join(f.Folder, project.Folder)), tree.Close())
	}
	return &Keeper{tree, m}, nil
}

// Files fits [engine.Options].
func (k *Keeper) Files(id persistence.ID) engine.Files {
	if k == nil || string(id) != k.tree.Run {
		return nil
	}
	return k.tree
}

// Forget fits [engine.Options]. A nil Keeper forgets what the settings of a project say that its runs have.
func (k *Keeper) Forget(p *project.Project, env []string) func(context.Context, []persistence.ID) error {
	return func(ctx context.Context, ids []persistence.ID) error {
		var m *git.Mirror
		if k != nil {
			m = k.mirror
		} else {
			c, err := p.Config()
			if err != nil || c.Files.Mode != persistence.FilesGit || c.Files.Remote == "" {
				return nil // what is wrong with settings was reported
			}
			opened, err := openCarrier(ctx, p, c.Files, env)
			if err != nil {
				return err
			}
			m = opened.mirror
		}
		runs := make([]string, len(ids))
		for i, id := range ids {
			runs[i] = string(id)
		}
		if err := m.ForgetAll(ctx, runs); err != nil {
			return engine.Refuse(engine.Failed, "the runs are removed; what is kept of their files is not: %s. To "+
				"see it: git ls-remote %s 'refs/loops/*'", humanize.OneLine(err), m.Remote)
		}
		return nil
	}
}

// filesOf says for a submission where in a repository the project is, and warns of what workers will not have.
func filesOf(ctx context.Context, p *project.Project, env []string, warn engine.Warn) (*engine.FilesRequest, error) {
	git := git.Command(env, engine.GitWait(p))
	commit, err := git(ctx, p.Dir, nil, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil {
		return nil, engine.Refuse(engine.Usage, "files.mode is git, and %s has no commit of git: commit the project "+
			"and push it, or leave files.mode out", p.Short(p.Dir))
	}
	folder, err := git(ctx, p.Dir, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	changed, err := git(ctx, p.Dir, nil, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	if changed != "" {
		warn.Say("there are changes that are not in commit %.12s: the run begins without them", commit)
	}
	if remotes, err := git(ctx, p.Dir, nil, "branch", "-r", "--contains", commit); err == nil && remotes == "" {
		warn.Say("commit %.12s is on no branch of a remote that this checkout knows of: push it, or no worker can "+
			"begin the run", commit)
	}
	return &engine.FilesRequest{Commit: commit, Folder: filepath.Clean(folder)}, nil
}
