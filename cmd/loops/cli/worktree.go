package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/disk"
	"loops/internal/worktree"
	"loops/persistence"
)

// treeFlags are the flags of run that choose a work tree.
type treeFlags struct {
	asked  bool
	branch string // "" = a new one
	end    string // "" = as the loop or the config says
}

// newBranch is the value of --worktree without one. No branch can have this name.
const newBranch = "HEAD"

// String is the value as it would be given: an empty one is an error, as for every flag.
func (f *treeFlags) String() string {
	if f.asked && f.branch == "" {
		return newBranch
	}
	return f.branch
}

// Type is how help calls the value.
func (f *treeFlags) Type() string { return "BRANCH" }

// Set takes the value of --worktree.
func (f *treeFlags) Set(branch string) error {
	if branch == "" {
		return errors.New("expected the name of a branch, or --worktree alone")
	}
	if branch == newBranch {
		branch = ""
	}
	f.asked, f.branch = true, branch
	return nil
}

func (f *treeFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(f, "worktree", "run the actions in a work tree of git: of a new branch from HEAD, or of `BRANCH`, which is made if need be")
	flags.Lookup("worktree").NoOptDefVal = newBranch
	flags.StringVar(&f.end, "worktree-end", "", "what becomes of the work tree at the end: `HOW` is keep (if there is something in it; the default), merge (what was committed, if the run succeeds) or discard")
}

var treeEnds = []string{worktree.Keep, worktree.Merge, worktree.Discard}

func (f *treeFlags) check(command string) error {
	switch {
	case f.end != "" && !slices.Contains(treeEnds, f.end):
		return usageError{fmt.Sprintf("--worktree-end %q: expected keep, merge or discard", f.end), command + " --help"}
	case f.end != "" && !f.asked:
		return usageError{"--worktree-end needs --worktree", command + " --help"}
	}
	return nil
}

// A runTree is the work tree of a run. A nil runTree is none: the run is in the main checkout.
type runTree struct {
	app  *app
	tree worktree.Tree // before the run has an id, see worktree.Tree.Own
	end  string
	of   string // the run whose work tree it is, where that is another: this one does not end it

	plan  *worktree.Plan // of a run that begins; nil = it goes on
	hold  *worktree.Hold // nil = it was never used
	guest io.Closer      // in the tree of another run; else nil
	left  *treeReport    // the run let go of it and can be resumed; else nil
}

// planTree finds out which work tree a run is to have. It changes nothing.
func (a *app) planTree(ctx context.Context, p *project.Project, l *fsm.Loop, f treeFlags, conf *config.Config) (*runTree, error) {
	if !f.asked {
		if p.Tree == "" {
			return nil, nil
		}
		return &runTree{app: a, tree: worktree.Tree{Path: p.Tree, Sub: p.Sub()}, of: p.Run}, nil
	}
	if p.Tree != "" {
		return nil, usageError{fmt.Sprintf("this is the work tree of run %s already; without --worktree the run is in it, too, and with -C %s it gets one of its own", p.Run, quote(p.Dir)), "loops run --help"}
	}
	git, done := a.git(p, "")
	defer done()
	plan, err := worktree.Look(ctx, git, p.Dir, f.branch)
	if err != nil {
		return nil, treeError(err)
	}
	t := &runTree{app: a, tree: plan.Tree, end: cmp.Or(f.end, l.Worktree, conf.Worktree, worktree.Keep), plan: plan}
	if t.end == worktree.Merge && plan.Into == "" {
		return nil, failure(exitUsage, "there is nothing to merge into: HEAD of %s is detached. Check out a branch, or let the work tree stay: --worktree-end=keep", p.Dir)
	}
	return t, nil
}

// treeError is what a person is told when there can be no work tree.
func treeError(err error) error {
	refused, is := errors.AsType[*worktree.Refusal](err)
	if is {
		return failure(exitUsage, "no work tree: %s", refused.Text)
	}
	return failure(exitFailed, "no work tree: %s", oneLine(err))
}

// free refuses a branch whose work tree belongs to a run that goes on, or can.
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
			return failure(exitConflict, "branch %s is that of run %s, which goes on (pid %d); wait for it, or: %s", t.tree.Branch, r.ID, r.Owner.PID, t.app.command("stop", string(r.ID)))
		case r.Resumable:
			return failure(exitConflict, "branch %s is that of run %s, which is %s; go on with it: %s", t.tree.Branch, r.ID, r.Status, t.app.command("resume", string(r.ID)))
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

func (t *runTree) own(p *project.Project, id persistence.ID) worktree.Tree {
	if t.of != "" {
		return t.tree
	}
	return t.tree.Own(p.Dir, string(id))
}

// prepare fits fsm.Config.Prepare. begun says that actions of the run have been in the tree; durable, that a new tree is so
// before it is recorded.
func (t *runTree) prepare(p *project.Project, id persistence.ID, begun, durable bool) func(context.Context) (fsm.Event, error) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) (fsm.Event, error) {
		tree := t.own(p, id)
		if t.of == "" {
			git, done := t.app.git(p, string(id))
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
		} else if guest, err := worktree.Enter(tree.Path); err != nil {
			return fsm.Event{}, treeFailure{err}
		} else {
			t.guest = guest
		}
		ev := fsm.Event{Kind: fsm.EventWorktree, Fields: []fsm.Field{{Key: "path", Value: tree.Path}}}
		if t.of == "" {
			ev.Fields = append(ev.Fields, fsm.Field{Key: "branch", Value: tree.Branch}, fsm.Field{Key: "base", Value: tree.Base})
		}
		return ev, nil
	}
}

// A treeFailure is why a run has no work tree to go on in.
type treeFailure struct{ error }

func (e treeFailure) Unwrap() error { return e.error }

// noTree says why a run has no work tree to be in. One that was to begin leaves nothing behind.
func (a *app) noTree(ctx context.Context, d driveSpec, why treeFailure) error {
	id := d.journal.Run().ID
	code := exitFailed
	if _, is := errors.AsType[*worktree.Refusal](why.error); is {
		code = exitConflict
	}
	if d.tree.plan != nil {
		err := d.store.Remove(ctx, id)
		if err == nil {
			return failure(code, "no work tree: %s; nothing was run", oneLine(why))
		}
	}
	return failure(code, "run %s has no work tree to go on in: %s. Nothing recorded is lost. Mend that, then: %s", id, oneLine(why), a.command("resume", string(id)))
}

// treeEnv returns the environment of the actions of a run, which it names to them as an ancestor. In a work tree nothing ties git to another one.
func (a *app) treeEnv(t *runTree, run string) []string {
	if t == nil {
		return a.actionEnv(run)
	}
	return withoutGit(a.actionEnv(run))
}
