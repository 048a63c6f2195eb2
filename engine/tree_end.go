package engine

import (
	"context"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/inspect"
	"loops/persistence"
)

// leave releases the work tree of a run that can be resumed, before another process may have the run.
func (t *runTree) leave(ctx context.Context, p *project.Project, id persistence.ID, o fsm.Outcome) {
	if t == nil || t.hold == nil || !persistence.StatusOf(o).CanGoOn(o.Retriable()) {
		return
	}
	git, done := Git(p, t.o, string(id), t.boxed)
	defer done()
	r := t.report(p, id)
	r.Stays = true
	r.State, r.Err = t.hold.State(ctx, git)
	r.Kept, r.Branch = r.State.Exists(), r.State.Tip != ""
	t.left = &r
	t.hold.Release()
}

// finish ends the work tree of a run that has finished, and reports the result of it, or stays in it.
func (t *runTree) finish(ctx context.Context, p *project.Project, id persistence.ID, o fsm.Outcome, tell func(Notice)) {
	switch {
	case t == nil:
	case t.guest != nil:
		_ = t.guest.Close() // nothing was written
	case t.hold == nil:
	case t.left != nil:
		tell(TreeEnded{*t.left, false})
	default:
		defer t.hold.Release()
		defer beginPhase(p.RunDir(id), "looking at the work tree "+t.hold.Path)()
		git, done := Git(p, t.o, string(id), t.boxed)
		defer done()
		r := t.report(p, id)
		r.TreeReport, r.Err = t.hold.End(ctx, git, t.end, t.merged)
		tell(TreeEnded{r, false})
	}
}

// merge fits fsm.Config.Merge: nil where the run asks for no merge.
func (t *runTree) merge(p *project.Project, id persistence.ID) func(context.Context) (how, why string) {
	if t == nil || t.of != "" || t.end != git.Merge {
		return nil
	}
	return func(ctx context.Context) (how, why string) {
		defer beginPhase(p.RunDir(id), "merging "+t.hold.Branch+" into "+t.hold.Into)()
		git, done := Git(p, t.o, string(id), t.boxed)
		defer done()
		m := t.hold.Merge(ctx, git)
		t.merged = &m
		return mergeWord(m), m.Why
	}
}

// mergeWord is what a run records of a merge.
func mergeWord(m git.MergeReport) string {
	switch {
	case m.Done:
		return fsm.MergeDone
	case m.Conflict:
		return fsm.MergeConflict
	}
	return fsm.MergeRefused
}

func (t *runTree) report(p *project.Project, id persistence.ID) TreeReport {
	return TreeReport{Project: p, Tree: t.hold.Tree, Run: id, How: t.end}
}

// FinishTrees finishes what processes that were killed left undone about work trees.
func FinishTrees(ctx context.Context, p *project.Project, o Options, store persistence.Store,
	print func(TreeReport),
) error {
	runGit, done := Git(p, o, "", true)
	defer done()
	left, runs, err := git.Unfinished(ctx, runGit, p.Dir)
	for i, h := range left {
		id := persistence.ID(runs[i])
		found, e := store.Runs(ctx, persistence.Query{ID: id})
		if e == nil && len(found) == 1 && !alive(found[0]) && !found[0].Resumable && found[0].Status != "" {
			r := TreeReport{Project: p, Tree: h.Tree, Run: id, How: git.Keep}
			if t := recordedTree(p, found[0]); t != nil {
				r.How = t.end
			}
			if _, e := endMarked(ctx, p, gitMark(string(id))+fsm.AttemptMark(1, 1)); e != nil {
				r.Err = e
			} else {
				r.TreeReport, r.Err = h.End(ctx, runGit, r.How, mergeOf(ctx, runGit, h, found[0]))
			}
			print(r)
		}
		h.Release()
	}
	return err
}

// mergeOf returns the result of the merge of a run that completed, nil if it did not. An earlier version
// recorded the end of a run before the merge.
func mergeOf(ctx context.Context, runGit git.Run, h *git.Hold, r persistence.Run) *git.MergeReport {
	var m git.MergeReport
	switch {
	case r.Status != persistence.Completed:
		return nil
	case r.Merge == "":
		m = h.Merge(ctx, runGit)
	case r.Unmerged():
		m.Why = strings.TrimPrefix(inspect.Reason(r), inspect.NotMerged)
	default:
		m.Done = true
	}
	return &m
}

// TreeLeft returns which work tree a run leaves whose records were removed, and what is in it: it is never
// removed with the records.
func TreeLeft(ctx context.Context, p *project.Project, o Options, run persistence.Run) (r TreeReport, left bool) {
	t := recordedTree(p, run)
	if t == nil || t.of != "" {
		return r, false
	}
	if m, err := git.ReadMark(t.tree.Path); err != nil || m.Run != string(run.ID) {
		return r, false // there is none, or another run has it
	}
	git, done := Git(p, o, "", true)
	defer done()
	r = TreeReport{Project: p, Tree: t.tree, Run: run.ID, How: t.end}
	r.State, r.Err = t.tree.State(ctx, git)
	r.Kept = true
	return r, true
}
