package engine

import (
	"cmp"
	"context"
	"errors"
	"io"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// A TreeRequest asks for a work tree of git for a run.
type TreeRequest struct {
	Asked  bool   `json:"asked,omitempty"`
	Branch string `json:"branch,omitempty"` // "" = a new one, from HEAD
	End    string `json:"end,omitempty"`    // keep, merge or discard; "" = as the loop or the settings say
}

// A runTree is the work tree of a run. Nil means no work tree: the run is in the main checkout.
type runTree struct {
	o     Options
	tree  git.Tree // before the run has an id, see git.Tree.Own
	end   string
	boxed bool   // the run has a sandbox
	of    string // the run whose work tree it is, where that is another: this one does not end it

	plan   *git.Plan        // of a run that begins; nil = it continues
	hold   *git.Hold        // nil = it was never used
	guest  io.Closer        // in the tree of another run; else nil
	merged *git.MergeReport // nil = no merge was to be made, or the run has not completed
	left   *TreeReport      // the run released it and can be resumed; else nil
}

// planTree finds out which work tree a run is to have. It changes nothing.
func (e *Engine) planTree(ctx context.Context, p *project.Project, l *fsm.Loop, f TreeRequest,
	conf *config.Config,
) (*runTree, error) {
	if !f.Asked {
		if p.Tree == "" {
			return nil, nil
		}
		return &runTree{o: e.o, tree: git.Tree{Path: p.Tree, Sub: p.Sub()}, of: p.Run}, nil
	}
	if p.Tree != "" {
		return nil, misuse(OpRun, "this is the work tree of run %s already; without %s the run is in it, too, and "+
			"with %s it gets one of its own", p.Run, Setting{Name: SetWorktree}, Setting{SetDir, p.Dir})
	}
	runGit, done := Git(p, e.o, "", false)
	defer done()
	plan, err := git.Look(ctx, runGit, p.Dir, f.Branch)
	if err != nil {
		return nil, TreeError(err)
	}
	t := &runTree{o: e.o, tree: plan.Tree, end: cmp.Or(f.End, l.Worktree, conf.Worktree, git.Keep), plan: plan}
	if t.end == git.Merge && plan.Into == "" {
		return nil, refuse(Usage, "there is nothing to merge into: HEAD of %s is detached. Check out a branch, or "+
			"let the work tree stay: %s", p.Dir, Setting{SetWorktreeEnd, git.Keep})
	}
	return t, nil
}

// TreeError is the error that a user gets when there can be no work tree.
func TreeError(err error) error {
	refused, is := errors.AsType[*git.Refusal](err)
	if is {
		return refuse(Usage, "no work tree: %s", refused.Text)
	}
	return refuse(Failed, "no work tree: %s", humanize.OneLine(err))
}

// free refuses a branch whose work tree belongs to a run that is running or can be resumed.
func (t *runTree) free(ctx context.Context, store *project.Records) error {
	if t == nil || t.tree.Before == "" {
		return nil
	}
	runs, err := store.Runs(ctx, persistence.Query{ID: persistence.ID(t.tree.Before)})
	if err != nil {
		return store.Failed(err)
	}
	for _, r := range project.Current(runs) {
		switch {
		case project.Alive(r):
			return refuse(Conflict, "branch %s is that of run %s, which is running (pid %d); wait for it, or: %s",
				t.tree.Branch, r.ID, r.Owner.PID, Do(OpStop, string(r.ID)))
		case r.Resumable:
			return refuse(Conflict, "branch %s is that of run %s, which is %s; resume it: %s", t.tree.Branch, r.ID,
				r.Status, Do(OpResume, string(r.ID)))
		}
	}
	return nil
}

// describe puts into the spec of a new run what is recorded of its work tree, and that it locks paths in it.
func (t *runTree) describe(spec *persistence.Spec, p *project.Project, l *fsm.Loop, values *value.Map) {
	if t == nil {
		return
	}
	if spec.Options == nil {
		spec.Options = value.NewMap()
	}
	spec.Options.Set(treeOption, t.object())
	if t.of != "" || t.tree.Path != "" {
		spec.Scope = project.Scopes(t.project(p, ""), l, values)
		return
	}
	in := func(id persistence.ID) (inside, outside []string) {
		q := t.project(p, id)
		for _, path := range project.Scopes(q, l, values) {
			if project.IsIn(path, q.Tree) {
				inside = append(inside, path)
			} else {
				outside = append(outside, path)
			}
		}
		return inside, outside
	}
	_, spec.Scope = in("run")
	spec.ScopeOf = func(id persistence.ID) []string {
		inside, _ := in(id)
		return inside
	}
}

// project returns the project for a run that is in the work tree.
func (t *runTree) project(p *project.Project, id persistence.ID) *project.Project {
	if t != nil {
		own := t.own(p, id)
		return p.In(own.Path, own.Dir())
	}
	return p
}

func (t *runTree) own(p *project.Project, id persistence.ID) git.Tree {
	if t.of != "" {
		return t.tree
	}
	return t.tree.Own(p.Dir, string(id))
}

// prepare fits fsm.Config.Prepare. begun says that actions of the run have been in the tree; durable, that a
// new tree is so before it is recorded.
func (t *runTree) prepare(p *project.Project, id persistence.ID, begun, durable bool) func(context.Context) (
	fsm.Event, error) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) (fsm.Event, error) {
		tree := t.own(p, id)
		if t.of == "" {
			git, done := Git(p, t.o, string(id), t.boxed)
			defer done()
			if _, err := endMarked(ctx, p, gitMark(string(id))+fsm.AttemptMark(1, 1)); err != nil {
				return fsm.Event{}, treeFailure{err}
			}
			if t.plan != nil {
				if err := tree.Free(ctx, git); err != nil {
					return fsm.Event{}, treeFailure{err}
				}
			}
			hold, err := tree.Make(ctx, git, string(id), begun)
			if err != nil {
				return fsm.Event{}, treeFailure{err}
			}
			t.hold = hold
			if durable && !begun { // git does not make durable what it checks out
				if err := disk.SyncFileSystem(tree.Path); err != nil {
					return fsm.Event{}, treeFailure{err}
				}
			}
		} else if guest, err := git.Enter(tree.Path); err != nil {
			return fsm.Event{}, treeFailure{err}
		} else {
			t.guest = guest
		}
		ev := fsm.Event{Kind: fsm.EventWorktree, Fields: []fsm.Field{{Key: "path", Value: tree.Path}}}
		if t.of == "" {
			ev.Fields = append(ev.Fields, fsm.Field{Key: "branch", Value: tree.Branch},
				fsm.Field{Key: "base", Value: tree.Base})
		}
		return ev, nil
	}
}

// A treeFailure is why a run has no work tree to continue in.
type treeFailure struct{ error }

func (e treeFailure) Unwrap() error { return e.error }

// noTree explains why a run has no work tree to be in. One that was to begin leaves nothing behind.
func (e *Engine) noTree(ctx context.Context, j *job, why treeFailure) error {
	id := j.journal.Run().ID
	kind := Failed
	if _, is := errors.AsType[*git.Refusal](why.error); is {
		kind = Conflict
	}
	if errors.Is(why, fsm.ErrScarce) {
		kind = Scarce
	}
	if j.tree.plan != nil {
		err := j.store.Remove(ctx, id)
		if err == nil {
			return refuse(kind, "no work tree: %s; nothing was run", humanize.OneLine(why))
		}
	}
	return refuse(kind, "run %s has no work tree to resume in: %s. Nothing recorded is lost. Fix that, then: %s", id,
		humanize.OneLine(why), Do(OpResume, string(id)))
}

// treeEnv returns the environment of the actions of a run, which it names to them as an ancestor. In a work
// tree nothing ties git to another one.
func (e *Engine) treeEnv(t *runTree, run string) []string {
	if t == nil {
		return e.actionEnv(run)
	}
	return git.Untied(e.actionEnv(run))
}
