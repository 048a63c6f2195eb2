package engine

import (
	"context"
	"errors"
	"iter"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// retryLists are the lists of one step of which items did not end with yes.
type retryLists struct {
	point *inspect.ForkPoint
	lists []*fsm.ListRecord
	sides uint64 // the last end of a branch in the step; 0 = none ended
}

// count returns how many items the lists have, and how many of them ended with yes.
func (l *retryLists) count() (all, good int) {
	for _, x := range l.lists {
		all, good = all+x.Count, good+x.Good()
	}
	return all, good
}

// settle notes the lists of the step that the run leaves.
func (r *forkSearch) settle() {
	if lists := r.lists.Failed(); len(lists) > 0 && r.last != nil {
		r.failed = &retryLists{r.last, lists, r.sides}
		if r.last == r.found || r.found == nil && r.at == lastStep || r.last == r.visit {
			r.retry = r.failed
		}
	}
	r.sides = 0
}

// command returns the fork that does failed items of those lists again.
func (l *retryLists) command(id persistence.ID, with ...Setting) Remedy {
	return Do(OpFork, string(id), append([]Setting{at(l.point.Step), {Name: SetRetryFailed}}, with...)...)
}

// branchOf returns the setting with which a new run works in the work tree that a run had, nil if it had none
// of its own, or its branch is gone.
func branchOf(ctx context.Context, p *project.Project, run persistence.Run) []Setting {
	old := recordedTree(p, run)
	if old == nil || old.of != "" {
		return nil
	}
	git, done := Git(p, Options{Env: p.Env}, "", true)
	defer done()
	if s, err := old.tree.State(ctx, git); err != nil || s.Tip == "" {
		return nil
	}
	return []Setting{{SetWorktree, old.tree.Branch}}
}

// failedItems explains, for a run that has ended, how its failed items are done again.
func failedItems(ctx context.Context, f project.Finder, run persistence.Run) (Text, error) {
	r := &forkSearch{finder: f, run: run}
	if err := r.read(ctx); err != nil {
		return textf(""), err
	}
	if r.failed == nil {
		return textf("no item of a list of it failed"), nil
	}
	all, good := r.failed.count()
	return textf("to do the %s of step %d again that did not end well, begin a new run: %s",
		humanize.Count(all-good, "item"), r.failed.point.Step,
		r.failed.command(run.ID, branchOf(ctx, f.Project, run)...)), nil
}

// forkItems are the items that a fork takes over from the other run.
type forkItems struct {
	lists []*fsm.ListRecord
	rerun bool
	store *project.Records
	run   persistence.ID
	files map[string]bool // their outputs, by their paths in the working folder
}

// ForkItems says which items of lists a fork takes over.
type ForkItems struct {
	State string // that works on the list
	Count int    // of items
	Taken int    // of these
}

// lists returns what a fork takes over, by list; nil = nothing.
func (f *forkPlace) lists() (lists []ForkItems) {
	if f.items == nil {
		return nil
	}
	for _, l := range f.items.lists {
		lists = append(lists, ForkItems{l.State, l.Count, l.Taken(f.items.rerun)})
	}
	return lists
}

// notes says what is taken over.
func (f *forkPlace) notes() (notes []Text) {
	for _, l := range f.lists() {
		notes = append(notes,
			textf("%d of %s of state %s are taken over from run %s", l.Taken, humanize.Count(l.Count, "item"),
				l.State, f.run.ID))
	}
	return notes
}

// retryItems returns the place where a run continues that repeats items of the lists of a step.
func (r *forkSearch) retryItems(ctx context.Context, p inspect.ForkPoint, rerun bool) (*forkPlace, error) {
	id, found := r.run.ID, r.retry
	if found == nil || found.point.Step != p.Step {
		if r.failed == nil {
			return nil, refuse(NotFound, "no item of a list of run %s failed, so there is none to do again; to do a "+
				"whole list again: %s", id, Do(OpFork, string(id), at(p.Step)))
		}
		return nil, refuse(NotFound, "in step %d of run %s no item of a list failed; those of step %d did: %s",
			p.Step, id, r.failed.point.Step, r.failed.command(id, branchOf(ctx, r.finder.Project, r.run)...))
	}
	items := &forkItems{lists: found.lists, rerun: rerun, store: r.finder.Store, run: id, files: map[string]bool{}}
	left := 0
	for _, l := range found.lists {
		left += l.Count - l.Taken(rerun)
		if !l.Over && (alive(r.run) || r.run.Resumable) {
			return nil, refuse(Undecided, "run %s is not done with its list in step %d; it continues with what is "+
				"left of that, and with the items that failed: %s", id, p.Step,
				Do(OpResume, string(id), Setting{Name: SetRetryFailed}))
		}
	}
	if left == 0 {
		return nil, refuse(Undecided, "the items of step %d of run %s that did not come to yes were cut short, and "+
			"idempotent: false does not let them be done again. Check what they did, then run them again with\n  %s",
			p.Step, id,
			found.command(id, append([]Setting{{Name: SetRerun}}, branchOf(ctx, r.finder.Project, r.run)...)...))
	}
	around := func(seq uint64) (before, after persistence.Moment, err error) {
		err = untilFree(ctx, endedIn(r.finder.Store), func() (err error) {
			before, after, err = r.finder.Store.Around(ctx, id, seq)
			return err
		})
		if err != nil && project.IsDamage(err) {
			err = refuse(NotRecorded, "what run %s remembered in step %d cannot be read: %v; to do the whole "+
				"list again: %s", id, p.Step, err, Do(OpFork, string(id), at(p.Step)))
		} else if err != nil {
			err = r.finder.Store.Failed(err)
		}
		return before, after, err
	}
	var lists []fsm.ListMemory
	for _, l := range found.lists {
		_, after, err := around(l.Begun)
		if err != nil {
			return nil, err
		}
		if after.Memory == nil {
			after.Memory = &fsm.Snapshot{}
		}
		lists = append(lists, fsm.ListMemory{ListRecord: l, Memory: after.Memory})
	}
	var last *fsm.Snapshot
	if found.sides > 0 {
		before, after, err := around(found.sides)
		if err != nil {
			return nil, err
		}
		if last = after.Memory; last == nil {
			last = before.Memory
		}
	}
	memory, err := fsm.RetryItems(lists, last, rerun)
	if tree, is := errors.AsType[*fsm.ListTreeError](err); is {
		return nil, refuse(Undecided, "%v, and a fork does not work there: what they changed would be missing. To "+
			"do all of step %d again: %s", tree, p.Step, Do(OpFork, string(id), at(p.Step)))
	}
	if err != nil {
		return nil, refuse(NotRecorded, "the items of step %d of run %s cannot be taken over: %v; to do all "+
			"of it again: %s", p.Step, id, err, Do(OpFork, string(id), at(p.Step)))
	}
	for ev, err := range items.events(ctx, nil) {
		if err != nil {
			return nil, refuse(NotRecorded, "the results of step %d of run %s cannot be read: %v; to do all "+
				"of it again: %s", p.Step, id, err, Do(OpFork, string(id), at(p.Step)))
		}
		name(items.files, ev.Get("output_file"))
	}
	return &forkPlace{run: r.run, point: p, memory: memory, items: items}, nil
}

// events yields the results that are taken over, with the paths that folders have now.
func (t *forkItems) events(ctx context.Context, folders []project.MovedFolder) iter.Seq2[fsm.Event, error] {
	from := uint64(0)
	for _, l := range t.lists {
		if first := l.From(t.rerun); first > 0 && (from == 0 || first < from) {
			from = first
		}
	}
	return func(yield func(fsm.Event, error) bool) {
		if from == 0 {
			return
		}
		for ev, err := range t.store.Events(ctx, t.run, from-1) {
			if err != nil {
				yield(ev, t.store.Failed(err))
				return
			}
			for _, l := range t.lists {
				if taken, ok := l.Takes(ev, t.rerun); ok {
					moveFields(taken.Fields, folders)
					if !yield(taken, nil) {
						return
					}
				}
			}
		}
	}
}

// moveFields puts the new paths of folders into fields of an event.
func moveFields(fields []fsm.Field, folders []project.MovedFolder) {
	for i, f := range fields {
		m := &fsm.Snapshot{Captured: value.NewMap("v", f.Value)}
		if project.RebasePaths(m, folders) > 0 {
			fields[i].Value = m.Captured.Value("v")
		}
	}
}

// checkTree refuses to take items over whose changes are in the work tree of the other run and nowhere else.
func (f *forkPlace) checkTree(ctx context.Context, p *project.Project, o Options, asked TreeRequest) error {
	old := recordedTree(p, f.run)
	if f.items == nil || old == nil || old.of != "" {
		return nil
	}
	runGit, done := Git(p, o, "", true)
	defer done()
	s, err := old.tree.State(ctx, runGit)
	switch {
	case err != nil:
		return TreeError(err)
	case s.Tip != "" && asked.Branch == old.tree.Branch:
		return nil // the fork works there, too
	case s.Files > 0 || s.Commits > 0:
		step := at(f.point.Step)
		return refuse(Undecided, "what the items of run %s changed is in its work tree, on branch %s, and not in "+
			"%s. To work there, too:\n  %s\nor merge that branch first, or do all of step %d again: %s", f.run.ID,
			old.tree.Branch, p.Dir,
			Do(OpFork, string(f.run.ID), step, Setting{Name: SetRetryFailed}, Setting{SetWorktree, old.tree.Branch}),
			f.point.Step, Do(OpFork, string(f.run.ID), step))
	case s.Tip == "" && old.end == git.Discard:
		return refuse(Undecided, "what the items of run %s changed was discarded with its work tree; to do all of "+
			"step %d again: %s", f.run.ID, f.point.Step, Do(OpFork, string(f.run.ID), at(f.point.Step)))
	}
	return nil
}
