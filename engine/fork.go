package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// A ForkPlan is from where a fork would continue.
type ForkPlan struct {
	Run      persistence.Run // the other one
	Origin   *persistence.Origin
	State    string
	Step     int
	Changed  []string // how the loop differs from that of the other run, a line each
	Folder   string   // the working folder of the other run
	Own      bool     // it is its own, and not one that a user named
	Empty    bool     // nothing of it is copied
	Captured []string // what is remembered
	Spent    []Text   // what the other run used until there, which does not count

	Items []ForkItems // of the lists of which items are done again; nil = all of the step is
}

// PlanFork returns from where a fork would continue, or why it cannot begin.
func (e *Engine) PlanFork(ctx context.Context, r ForkRequest) (*Plan, error) {
	p := e.p
	if err := unnamed(r.Run); err != nil {
		return nil, err
	}
	if _, err := forkValues(r.Set); err != nil {
		return nil, err
	}
	if r.Queued != "" { // a worker carries runs of other checkouts
		p.Admit(persistence.ID(r.Run), false)
	}
	look, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	run, err := look.Finder().One(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	if r.Retry {
		if err := e.retry(ctx, look, run, &r); err != nil {
			return nil, err
		}
	}
	from, err := e.forkPlace(ctx, look.Finder(), run, &r)
	if err != nil {
		return nil, err
	}
	if err := from.checkTree(ctx, p, e.o, r.Tree); err != nil {
		return nil, err
	}
	made, err := e.forkDefinition(ctx, p, look, from, &r)
	if err != nil {
		return nil, err
	}
	over := r.Over.Over(run.Options)
	conf, err := p.Config()
	if err != nil {
		return nil, err
	}
	if over.Config = conf; r.Files && over.Snapshots == "" {
		over.Snapshots = fsm.SnapshotsGit
	}
	l, recorded := over.Apply(made.loop)
	recorded = keepOptions(recorded, run, inspect.ScheduledAtOption)
	if n := from.point.Step; l.MaxSteps > 0 && n > l.MaxSteps {
		return nil, refuse(Usage, "steps count on, so step %d would be behind the cap of %s; give it a "+
			"higher one:\n  %s", n, humanize.Count(l.MaxSteps, "step"),
			Do(OpFork, string(run.ID), Setting{SetAt, strconv.Itoa(n)},
				Setting{SetMaxSteps, strconv.Itoa(n + l.MaxSteps)}))
	}
	planned, err := from.context(l, &r)
	if err != nil {
		return nil, err
	}
	dir, own := from.workFolder(p)
	if own {
		planned.Delete("run_dir")
	}
	Fill(planned, l, PlannedRunDir(p, l))
	if err := Preflight(p, l, planned); err != nil {
		return nil, err
	}
	e.Unused(l, nil, r.Set, r.Warn)
	e.warnSettings(conf, r.Warn)
	if err := e.checkHosts(p, l, r.Over.Agents.Host, over, conf, r.Warn.say, OpFork); err != nil {
		return nil, err
	}
	if err := e.checkLimits(p, l, conf); err != nil {
		return nil, err
	}
	if err := e.checkSnapshots(p, l); err != nil {
		return nil, err
	}
	known, err := e.checkCost(p, l, over.Agents, conf)
	if err != nil {
		return nil, err
	}
	tree, err := e.planTree(ctx, p, l, r.Tree, conf)
	if err != nil {
		return nil, err
	}
	files, err := e.forkFiles(ctx, from, &r, tree)
	if err != nil {
		return nil, err
	}
	if files.Tree != "" {
		recorded = withOption(recorded, filesOption, files.Tree)
	}
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	j := &job{
		project: p, loop: l, keeper: &project.Keeper{}, over: over, config: conf, prices: known, tree: tree,
		lock: r.Lock, leave: run.ID,
	}
	if tree != nil {
		tree.boxed = j.boxed()
	}
	j.library = made.changes.library(lib, l, over, j.keeper)
	if !made.changes.recorded {
		j.vet = l.File
	}
	if j.spec, err = e.spec(p, l, j.keeper.Def, planned, recorded); err != nil {
		return nil, err
	}
	if r.Hash != "" && r.Hash != definitionHash(j.spec) {
		return nil, otherDefinition(p, l)
	}
	j.queued = r.Queued
	if from.items != nil {
		made.changes.force = true // a fork continues with the files as they are now
		if err := made.changes.checkSubloops(j.library, l, from.memory, ""); err != nil {
			return nil, err
		}
	}
	j.spec.Origin = from.origin()
	r.Lock.apply(&j.spec)
	tree.describe(&j.spec, p, l, planned)
	j.announce = func() { made.tell(run, r.Warn) }
	plan := &Plan{Project: p, Loop: l, Values: planned, Tree: tree.planned(p), job: j, Fork: &ForkPlan{
		Run: run, Origin: from.origin(), State: from.point.State, Step: from.point.Step, Changed: made.lines,
		Folder: dir, Own: own, Empty: r.Empty,
		Captured: from.memory.Captured.Keys(), Spent: from.spent(), Items: from.lists(),
	}}
	j.begin(func(journal persistence.Journal, began time.Time) (func(fsm.Config) *fsm.Executor, error) {
		notes, err := from.move(ctx, p, journal.Dir(), r.Empty, j.store.Level() != persistence.None)
		if err != nil {
			return nil, err
		}
		if from.memory.Context, err = from.context(l, &r); err != nil {
			return nil, err
		}
		Fill(from.memory.Context, l, journal.Dir())
		notes = append(append(notes, from.notes()...), from.spent()...)
		if files.Tree != "" {
			notes = append(notes,
				textf("files: as they were before step %d of run %s; to have those back that are here now: %s",
					from.point.Step, run.ID, Do(OpUndo, string(journal.Run().ID))))
		}
		if old := recordedTree(p, run); old != nil && tree == nil {
			notes = append(notes,
				textf("run %s worked in the work tree %s, this one works in %s; a tree of its own: %s", run.ID,
					p.Short(old.tree.Path), p.Dir, Setting{Name: SetWorktree}))
		}
		shown := journal.Run()
		shown.State, shown.Step = from.point.State, from.point.Step-1
		j.header = Header{
			Loop: l, File: p.Short(l.File), Run: shown, Begin: began, Origin: j.spec.Origin,
			Retry: r.Retry, Notes: notes,
		}
		return func(cfg fsm.Config) *fsm.Executor {
			made.changes.adopt(from.memory, "")
			from.memory.Context = j.secrets.remembered(from.memory.Context)
			if r.Retry {
				from.memory.Recount()
			}
			x := fsm.Fork(cfg, from.memory, began, fsm.Field{Key: "forked_from", Value: j.spec.Origin.Map()})
			if from.items != nil {
				x.TakeOver(from.items.events(context.WithoutCancel(ctx), from.folders))
			}
			return x
		}, nil
	})
	return plan, nil
}

// Fork begins a new run from what another one remembered before a step; compare Start.
func (e *Engine) Fork(ctx context.Context, r ForkRequest, o Observer) (*Run, error) {
	plan, err := e.PlanFork(ctx, r)
	if err == nil && r.Retry {
		err = e.notSubmitted(ctx, plan.Fork.Run.ID)
	}
	if err != nil {
		return nil, err
	}
	return e.begin(ctx, plan, o)
}

// CheckForkValues refuses values that a fork cannot set.
func CheckForkValues(pairs []string) error {
	_, err := forkValues(pairs)
	return err
}

// forkValues reads --set.
func forkValues(pairs []string) (*value.Map, error) {
	given := value.NewMap()
	for _, pair := range pairs {
		key, val, ok := strings.Cut(pair, "=")
		key = strings.TrimPrefix(strings.TrimSpace(key), "context.")
		switch {
		case !ok || key == "":
			return nil, misuse(OpFork, "%s: expected KEY=VALUE", Setting{SetValue, strconv.Quote(pair)})
		case strings.HasPrefix(key, "captured.") || strings.HasPrefix(key, "messages"):
			return nil, misuse(OpFork, "%s: it sets values of the context; what was captured and said is as it was. "+
				"To change that, fork the step that captured it", Setting{SetValue, strconv.Quote(pair)})
		}
		given.Set(key, val)
	}
	return given, nil
}

// context returns the context to begin with: that of the other run, keys the loop file has and it lacks, and --set over
// both. What follows from a key that is set is left out, to be filled in again.
func (f *forkPlace) context(l *fsm.Loop, o *ForkRequest) (*value.Map, error) {
	given, err := forkValues(o.Set)
	if err != nil {
		return nil, err
	}
	if err := giveTypes(l, given); err != nil {
		return nil, err
	}
	if err := CheckGiven(l, given); err != nil {
		return nil, err
	}
	values := value.NewMap()
	Overlay(values, f.memory.Context)
	if _, ok := given.Get("input"); ok {
		values.Delete("input_hash")
	}
	initial := declared(l)
	// caps that hold for the fork, unless the loop means something else by them
	for _, k := range []string{"max_steps", "max_iterations"} {
		if _, own := initial.Get(k); !own {
			values.Delete(k)
		}
	}
	for _, k := range initial.Keys() {
		if _, ok := values.Get(k); !ok {
			v, _ := initial.Get(k)
			values.Set(k, v)
		}
	}
	return Overlay(values, given), nil
}
