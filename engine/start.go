package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// A Plan is what a request would begin, found out without changing anything.
type Plan struct {
	Project *project.Project
	Loop    *fsm.Loop  // with what the request changes in it
	Values  *value.Map // the context; the working folder has no name yet
	Tree    *TreePlan  // nil = the run would be in the main checkout
	Fork    *ForkPlan  // of a fork; nil = it is not a fork

	job *job
}

// parent is what starts a run if this process is part of an action of another run of the project; "" = it is not.
func (e *Engine) parent() string {
	id, _ := e.getenv(EnvRunID)
	dir, _ := e.getenv(EnvRunDir)
	if id == "" || filepath.Dir(filepath.Clean(dir)) != filepath.Join(e.p.Loops, "runs") {
		return ""
	}
	return inspect.ByRun + id
}

// Plan returns what a run would be, or why it cannot begin.
func (e *Engine) Plan(ctx context.Context, r StartRequest) (*Plan, error) {
	p := e.p
	l, shipped, err := e.definition(r)
	if err != nil {
		return nil, err
	}
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	conf, err := p.Config()
	if err != nil {
		return nil, err
	}
	over := r.Over
	over.Config = conf
	if r.Tree.Asked && l.Sandbox == nil && over.Sandbox == "" {
		over.Sandbox = confine.Workspace
	}
	l, recorded := over.Apply(l)
	if by := cmp.Or(r.By, e.parent()); by != "" {
		recorded = withOption(recorded, inspect.StartedByOption, by)
	}
	if r.ScheduledAt != "" {
		recorded = withOption(recorded, inspect.ScheduledAtOption, r.ScheduledAt)
	}
	values, err := Seed(l, r.Input, r.Context)
	if err != nil {
		return nil, err
	}
	if r.Values != nil {
		if err := CheckGiven(l, r.Values); err != nil {
			return nil, err
		}
		Overlay(values, r.Values)
	}
	Gate(values, conf)
	e.Unused(l, r.Input, r.Context, r.Warn)
	planned := values.Clone()
	Fill(planned, l, PlannedRunDir(p, l))
	if err := Preflight(p, l, planned); err != nil {
		return nil, err
	}
	e.warnSettings(conf, r.Warn)
	if err := e.checkHosts(p, l, over.Agents.Host, over, conf, r.Warn.say, OpRun); err != nil {
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
	j := &job{
		project: p, loop: l, keeper: &project.Keeper{}, over: over, config: conf, prices: known, tree: tree,
		lock: r.Lock,
	}
	if tree != nil {
		tree.boxed = j.boxed()
	}
	if shipped == nil {
		j.vet = l.File
	}
	if j.library = lib.Subloops(over, j.keeper); shipped != nil {
		j.keeper.Def, j.library = shipped, recordedLoops{lib.Subloops(over, j.keeper), shipped}
	} else {
		j.keeper.Def, _ = project.NewDefinition(lib.Files, l) // one that is too large to write out is not kept
	}
	if j.spec, err = e.spec(p, l, j.keeper.Def, planned, recorded); err != nil {
		return nil, err
	}
	if r.Hash != "" && r.Hash != definitionHash(j.spec) {
		return nil, otherDefinition(p, l)
	}
	j.spec.ID = r.ID
	r.Lock.apply(&j.spec)
	tree.describe(&j.spec, p, l, planned)
	j.queued = r.Queued
	j.begin(func(journal persistence.Journal, began time.Time) (func(fsm.Config) *fsm.Executor, error) {
		Fill(values, l, journal.Dir())
		j.header = Header{Loop: l, File: p.Short(l.File), Run: journal.Run(), Begin: began}
		return func(cfg fsm.Config) *fsm.Executor { return fsm.Start(cfg, j.secrets.values(values), began) }, nil
	})
	return &Plan{Project: p, Loop: l, Values: planned, Tree: tree.planned(p), job: j}, nil
}

// otherDefinition refuses to begin a submitted run with a definition that is not the one it was submitted with.
func otherDefinition(p *project.Project, l *fsm.Loop) error {
	return refuse(Invalid, "%s is not here as it was submitted: the definition of its loop, or of one that it runs, "+
		"has another hash in %s. Bring the checkout of the worker up to date, or submit it again", p.Short(l.File),
		p.Dir)
}

// definition reads the loop that is asked for, and returns what came with the request of it, nil where it is in files.
func (e *Engine) definition(r StartRequest) (*fsm.Loop, *project.Definition, error) {
	if r.Shipped == nil {
		l, err := Load(e.p, r.Loop, r.Warn)
		return l, nil, err
	}
	def, err := r.Shipped.definition(e.p)
	if err != nil {
		return nil, nil, err
	}
	l, err := def.Main().Load()
	if err != nil {
		return nil, nil, refuse(Invalid, "%v", err)
	}
	return l, def, nil
}

// begin has a job make a new run; ready is called with it.
func (j *job) begin(ready func(journal persistence.Journal, began time.Time) (func(fsm.Config) *fsm.Executor, error)) {
	var began time.Time
	j.take = func(ctx context.Context, spec persistence.Spec) (persistence.Journal, error) {
		began = time.Now()
		spec.StartedAt = began
		if j.queued == "" {
			return j.store.Create(ctx, spec)
		}
		store, ok := j.store.Store.(persistence.Placer)
		if !ok {
			return nil, persistence.ErrNoWorkers
		}
		return store.Begin(ctx, j.queued, spec)
	}
	j.ready = func(context.Context) (func(fsm.Config) *fsm.Executor, error) { return ready(j.journal, began) }
}

// Start begins a run, and returns when it is on record: its first event is durable, and its work tree is there.
// Until then the end of ctx keeps it from beginning; after that nothing about ctx matters, and Run.Stop or
// Control ends it. The observer is notified of this run alone, before it has an id too; nil = there is no
// observer.
func (e *Engine) Start(ctx context.Context, r StartRequest, o Observer) (*Run, error) {
	plan, err := e.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	return e.begin(ctx, plan, o)
}

// Begin is Start of what was planned.
func (e *Engine) Begin(ctx context.Context, plan *Plan, o Observer) (*Run, error) {
	return e.begin(ctx, plan, o)
}

func (e *Engine) begin(ctx context.Context, plan *Plan, o Observer) (*Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j := plan.job
	if j.queued != "" { // a worker carries runs of other checkouts, which stay theirs
		e.p.Admit(j.queued, false)
	}
	if j.announce != nil {
		j.announce()
	}
	var err error
	if j.store, err = e.records(ctx, true, j.over.Level()); err != nil {
		return nil, err
	}
	if err := j.tree.free(ctx, j.store); err != nil {
		return nil, err
	}
	if !j.project.HasRecords() {
		_ = j.project.IgnoreRecords() // whatever is wrong with the folder is reported when the run is recorded
	}
	return e.carry(ctx, j, o)
}
