package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// A forkPlace is where a run is forked.
type forkPlace struct {
	run    persistence.Run
	point  inspect.ForkPoint
	memory *fsm.Snapshot // before the point
	items  *forkItems    // that it takes over; nil = none

	folders []project.MovedFolder // that have another path for the fork; known once it has a folder
}

// origin says where the fork comes from.
func (f *forkPlace) origin() *persistence.Origin {
	return &persistence.Origin{ID: f.run.ID, RunID: f.run.RunID, Step: f.point.Step, Seq: f.point.Seq - 1}
}

// forkPlace finds the place of a run that a request names, and what the run remembered there.
func (e *Engine) forkPlace(ctx context.Context, f project.Finder, run persistence.Run, o *ForkRequest) (*forkPlace,
	error,
) {
	r := &forkSearch{finder: f, run: run, at: cmp.Or(o.At, lastStep)}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	if b := o.Begin; b != nil {
		p := inspect.ForkPoint{Step: b.Step, State: b.State, Seq: r.track.Last + 1}
		if known := r.found; known != nil && known.State == b.State {
			p.Seq = known.Seq
		}
		return &forkPlace{run: run, point: p, memory: b.Memory}, nil
	}
	if o.At == "" && o.RetryFailed && r.failed != nil {
		r.retry, r.found = r.failed, r.failed.point
		r.at = strconv.Itoa(r.found.Step)
	}
	step, err := r.step()
	if err != nil {
		return nil, err
	}
	point, err := r.point(ctx, step)
	if err != nil {
		return nil, err
	}
	if o.RetryFailed {
		return r.retryItems(ctx, point, o.Rerun)
	}
	memory, err := r.memory(ctx, point)
	if err != nil {
		return nil, err
	}
	return &forkPlace{run: run, point: point, memory: memory}, nil
}

// read reads the events of the run.
func (r *forkSearch) read(ctx context.Context) error {
	store := r.finder.Store
	for e, err := range store.Events(ctx, r.run.ID, 0) {
		switch {
		case err == nil:
			r.take(e)
		case project.IsDamage(err):
			r.damage, r.behind = cmp.Or(r.damage, err), err
		default:
			return store.Failed(err)
		}
	}
	r.settle()
	return nil
}

// lastStep stands for the last step of a run.
const lastStep = "last"

// A forkSearch looks for the place where a run can be forked. Of a run of any length it remembers a few places.
type forkSearch struct {
	finder project.Finder
	run    persistence.Run
	at     string // the step that is looked for, as it was given
	damage error  // of its events, the first; nil = none
	behind error  // the damage after the last step that can be read; nil = none

	track inspect.ForkTrack
	first *inspect.ForkPoint
	last  *inspect.ForkPoint
	found *inspect.ForkPoint // that of the step; the first of them
	later *inspect.ForkPoint // the first that is after the step
	visit *inspect.ForkPoint // the last of the state whose name was given for a step

	lists  fsm.ListTrack
	sides  uint64      // the last end of a branch in the step; 0 = none ended
	retry  *retryLists // of the step that is looked for; nil = no item of a list failed there
	failed *retryLists // of the last step with a list of which an item failed; nil = there is none
}

// take takes the next event of the run.
func (r *forkSearch) take(e fsm.Event) {
	p := r.track.Add(e)
	if p != r.last {
		r.settle()
	}
	if r.lists.Add(e); e.Kind == fsm.EventBranchEnd {
		r.sides = e.Seq
	}
	if p == r.last {
		return
	}
	r.last, r.behind = p, nil
	r.first = cmp.Or(r.first, p)
	if p.State == r.at {
		r.visit = p
	}
	switch step := ownStep(r.at); {
	case step == 0:
	case p.Step == step:
		r.found = cmp.Or(r.found, p)
	case p.Step > step:
		r.later = cmp.Or(r.later, p)
	}
}

// at is the setting that forks a run at a step.
func at(step int) Setting { return Setting{SetAt, strconv.Itoa(step)} }

// ownStep returns the step of the run itself that an address names; 0 = it is no such address.
func ownStep(address string) int {
	if a, ok := fsm.ParseAddress(address); ok && a.Step() && len(a.Hops) == 1 {
		return a.Hops[0].Step
	}
	return 0
}

// step reads where the run is to be forked.
func (r *forkSearch) step() (int, error) {
	const see = OpFork
	given := r.at
	if given == lastStep {
		switch {
		case r.last == nil:
			return 1, nil
		case r.behind != nil:
			return 0, refuse(NotRecorded, "the last step of run %s is not known: %v; the last that can be read: %s",
				r.run.ID, r.behind, at(r.last.Step))
		}
		return r.last.Step, nil
	}
	if n := ownStep(given); n > 0 {
		return n, nil
	}
	if a, ok := fsm.ParseAddress(given); ok {
		n := a.Hops[0].Step
		return 0, misuse(see, "%s: a run is forked at a step of its own; %s does all of step %d again, with its %s",
			Setting{SetAt, given}, at(n), n,
			map[bool]string{true: "sub-loop", false: "branches and items"}[a.Hops[0].Branch == ""])
	}
	if r.visit != nil {
		return r.visit.Step, nil
	}
	return 0, misuse(see, "%s: expected a step, a number from 1 as %s shows it, a state that the run "+
		"entered, or last", Setting{SetAt, strconv.Quote(given)}, Do(OpHistory, ""))
}

// point returns the point of a step, also of the one that the run has not entered yet.
func (r *forkSearch) point(ctx context.Context, step int) (inspect.ForkPoint, error) {
	id, p := r.run.ID, r.found
	if p == nil && r.at == lastStep {
		p = r.last
	}
	p = cmp.Or(p, r.visit)
	switch {
	case p != nil && p.Handler:
		return *p, refuse(Usage, "step %d of run %s was done because a cap had been reached, and leads nowhere: "+
			"fork an earlier step, or raise the cap: %s",
			step, id, Do(OpResume, string(id), Setting{SetExtend, "steps=20"}))
	case p != nil:
		return *p, nil
	}
	next := 0 // the step that comes next, if it can be forked
	if m, err := r.finder.Store.Snapshot(ctx, id); err == nil && m.Phase == fsm.PhasePending && !m.StepsCapped &&
		!m.PassCapped {
		if next = m.Step + 1; next == step {
			return inspect.ForkPoint{Step: step, State: m.Current, Seq: r.track.Last + 1}, nil
		}
	}
	if r.damage != nil {
		return inspect.ForkPoint{}, refuse(NotRecorded, "step %d of run %s is not to be found: %v", step, id, r.damage)
	}
	if r.last == nil {
		return inspect.ForkPoint{},
			refuse(NotFound, "run %s has no step %d: that it entered a state is not on record", id, step)
	}
	switch first, last, o := r.first, r.last, r.run.Origin; {
	case step < first.Step && o != nil:
		if found, err := r.finder.Run(ctx, "", string(o.ID)); err == nil && len(found) == 0 {
			return inspect.ForkPoint{},
				refuse(NotFound, "step %d was before run %s began, as a fork of run %s, which no longer exists; "+
					"expected %s or later", step, id, o, at(first.Step))
		}
		return inspect.ForkPoint{},
			refuse(NotFound, "step %d was before run %s began, as a fork of run %s; fork that: %s",
				step, id, o, Do(OpFork, string(o.ID), at(step)))
	case step > last.Step && alive(r.run):
		return inspect.ForkPoint{}, refuse(NotFound, "run %s has no step %d yet: it is at step %d", id, step, last.Step)
	case step > last.Step:
		until := ""
		most := last.Step
		if r.run.Resumable {
			most = max(most, next)
		}
		if most > first.Step {
			until = fmt.Sprintf(" to %d", most)
		}
		return inspect.ForkPoint{}, refuse(NotFound, "run %s has no step %d: expected %s%s", id, step, at(first.Step),
			until)
	}
	return inspect.ForkPoint{},
		refuse(NotFound, "in step %d of run %s no state was entered: the loop started over there; fork step %d", step,
			id, cmp.Or(r.later, r.first).Step)
}

// memory returns what the run remembered before a point.
func (r *forkSearch) memory(ctx context.Context, p inspect.ForkPoint) (*fsm.Snapshot, error) {
	id := r.run.ID
	if r.run.Foreign {
		return r.foreign(ctx, p)
	}
	var before, after persistence.Moment
	err := untilFree(ctx, endedIn(r.finder.Store), func() (err error) {
		before, after, err = r.finder.Store.Around(ctx, id, p.Seq)
		return err
	})
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, err
	case project.IsDamage(err):
		return nil, refuse(NotRecorded, "what run %s remembered before step %d cannot be read: %v; try "+
			"an earlier step", id, p.Step, err)
	case err != nil:
		return nil, r.finder.Store.Failed(err)
	}
	if m := p.Memory(inspect.Recorded(before), inspect.Recorded(after)); m != nil {
		return m, nil
	}
	text, last := fmt.Sprintf("what run %s remembered before step %d is not on record", id, p.Step), textf("")
	if after.Memory != nil && after.Memory.Step > p.Step || p.Done > 0 && after.Seq >= p.Done || after.Memory == nil {
		text += ": of a run that was imported or copied, or that an older version recorded in a database, only what " +
			"it remembered last is kept"
	}
	if l := r.last; l != nil && l.Step != p.Step {
		if m, err := r.memory(ctx, *l); err == nil && m != nil {
			last = textf("; its last step can be forked: %s", at(l.Step))
		}
	}
	return nil, refuse(NotFound, "%s%s", text, last)
}

// foreign is memory of a run that little-loops recorded.
func (r *forkSearch) foreign(ctx context.Context, p inspect.ForkPoint) (*fsm.Snapshot, error) {
	m, err := r.finder.Store.Snapshot(ctx, r.run.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, r.finder.Store.Failed(err)
	}
	text := fmt.Sprintf("run %s was recorded by little-loops, which keeps only what a run remembered last", r.run.ID)
	if m == nil || !r.run.Status.Resumable() {
		return nil, refuse(NotFound, "%s: that was when it had ended, so none of its steps can be forked", text)
	}
	stands := m.Step
	if m.Phase == fsm.PhasePending {
		stands++
	}
	if m.BeforeStep(p.Step, p.State) {
		return m, nil
	}
	if m.StepsCapped || m.PassCapped {
		return nil, refuse(NotFound, "%s: that was when a cap had been reached, so none of its steps can be forked; "+
			"raise the cap: %s", text, Do(OpResume, string(r.run.ID), Setting{SetExtend, "steps=20"}))
	}
	return nil, refuse(NotFound, "%s: it is at step %d, the only one that can be forked: %s", text, stands, at(stands))
}
