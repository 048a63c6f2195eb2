package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/persistence"
)

// Submit records a run for workers, which is queued then, and returns it: it is durable, and nothing of it is
// run. The job says who may carry it; its run, hash and request are filled in. What a start refuses is refused
// here, as far as this machine can decide. Only runs in PostgreSQL can be submitted.
func (e *Engine) Submit(ctx context.Context, r StartRequest, j persistence.Job) (persistence.Run, error) {
	if r.Tree != (TreeRequest{}) {
		return persistence.Run{},
			misuse(OpSubmit, "a submitted run works in the files of its worker, and has no work tree of its own")
	}
	store, err := e.records(ctx, true, "")
	if err != nil {
		return persistence.Run{}, err
	}
	placer, ok := store.Store.(persistence.Placer)
	if !ok {
		return persistence.Run{}, because(Usage, persistence.ErrNoWorkers, "cannot submit")
	}
	plan, err := e.Plan(ctx, r)
	if err != nil {
		return persistence.Run{}, err
	}
	r.Loop, r.ID = portable(r.Loop, plan.job.spec), ""
	return e.submit(ctx, placer, plan, r, j, plan.Loop.Initial)
}

// SubmitFork records a run for workers that begins as a fork does, as Submit does one that begins at its first
// state. files says where the files of a run that travels begin; nil = they do not travel. The run that is
// forked has to be in the same database.
func (e *Engine) SubmitFork(ctx context.Context, r ForkRequest, files *FilesRequest,
	j persistence.Job,
) (persistence.Run, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return persistence.Run{}, err
	}
	placer, ok := store.Store.(persistence.Placer)
	if !ok {
		return persistence.Run{}, because(Usage, persistence.ErrNoWorkers, "cannot submit")
	}
	if r.Files {
		return persistence.Run{},
			refuse(Usage, "the files of a run are kept in the repository of the machine that it ran on, and a "+
				"worker may have another one; begin the new run here: %s", Do(OpFork, r.Run, Setting{Name: SetFiles}))
	}
	plan, err := e.PlanFork(ctx, r)
	if err != nil {
		return persistence.Run{}, err
	}
	if plan.Tree != nil {
		return persistence.Run{},
			misuse(OpRetry, "a submitted run works in the files of its worker, and has no work tree of its own")
	}
	if plan.job.announce != nil {
		plan.job.announce()
	}
	r.Run, r.At, r.Retry = string(plan.Fork.Run.ID), strconv.Itoa(plan.Fork.Step), false
	if r.Definition != RecordedDefinition {
		r.Definition = portable(r.Definition, plan.job.spec)
	}
	r.Hash = definitionHash(plan.job.spec)
	return e.submit(ctx, placer, plan, StartRequest{Fork: &r, Lock: r.Lock, Files: files, Warn: r.Warn}, j,
		plan.Fork.State)
}

// portable returns the name of a loop as a worker finds it from its own checkout: a path from the folder of the
// project.
func portable(loop string, spec persistence.Spec) string {
	switch {
	case filepath.Base(loop) == loop || loop == "":
		return loop
	case filepath.IsAbs(spec.File):
		return spec.File
	}
	return "." + string(filepath.Separator) + spec.File
}

// submit records a planned run for workers, which begins in a state.
func (e *Engine) submit(ctx context.Context, placer persistence.Placer, plan *Plan, r StartRequest, j persistence.Job,
	state string,
) (run persistence.Run, err error) {
	if err := e.trusts(ctx, plan.job); err != nil {
		return run, err
	}
	spec := plan.job.spec
	spec.Owner, spec.StartedAt = persistence.Owner{}, time.Now()
	j.Hash = definitionHash(spec)
	r.Hash = j.Hash
	if r.Shipped, err = e.signed(plan, r.Warn); err != nil {
		return run, err
	}
	if j.Request, err = json.Marshal(r); err != nil {
		return run, err
	}
	memory := &fsm.Snapshot{
		Loop: plan.Loop.Name, Phase: fsm.PhasePending, Current: state, StartedAt: spec.StartedAt,
		Context: plan.Values, Captured: value.NewMap(),
	}
	run, err = placer.Submit(ctx, spec, memory, j)
	if errors.Is(err, persistence.ErrNoWorkers) {
		err = because(Usage, err, "cannot submit")
	}
	return run, err
}

// Submitted returns the run that a user names as it was submitted, with what was asked for; nil if it was not
// submitted.
func (e *Engine) Submitted(ctx context.Context, name string) (*persistence.Placed, *StartRequest, error) {
	if err := unnamed(name); err != nil {
		return nil, nil, err
	}
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, nil, err
	}
	placer, ok := store.Store.(persistence.Placer)
	if !ok {
		return nil, nil, nil
	}
	run, err := store.Finder().One(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	placed, err := placer.Placed(ctx, run.ID, 1)
	if errors.Is(err, persistence.ErrNoWorkers) || err == nil && len(placed) == 0 {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, store.Failed(err)
	}
	r := &StartRequest{}
	if err := json.Unmarshal(placed[0].Request, r); err != nil {
		return nil, nil, refuse(Failed, "what was submitted as run %s cannot be read: %v", run.ID, err)
	}
	return &placed[0], r, nil
}

// DefinitionText returns a loop and the text of its definition, with all loops that it names: what Submit takes
// the hash of and loops sign signs.
func (e *Engine) DefinitionText(name string, warn Warn) (*fsm.Loop, []byte, error) {
	l, err := Load(e.p, name, warn)
	if err != nil {
		return nil, nil, err
	}
	lib, err := e.p.Library()
	if err != nil {
		return nil, nil, err
	}
	def, err := project.NewDefinition(lib.Files, l)
	if err != nil {
		return nil, nil, refuse(Invalid, "the definition of %s cannot be written out: %v", e.p.Short(l.File), err)
	}
	return l, def.Encode(), nil
}

// signed returns the definition of a plan with the signature beside the file of its loop, nil if there is none.
// One of another definition is warned of: the run can be submitted without.
func (e *Engine) signed(plan *Plan, warn Warn) (*Shipped, error) {
	file := plan.Loop.File
	s, err := config.ReadSignature(file)
	if err != nil {
		return nil, refuse(Failed, "%s cannot be read: %v", e.p.Short(config.SignatureFile(file)), project.Cause(err))
	}
	if s == nil {
		return nil, nil
	}
	text := plan.job.spec.Definition
	if err := s.Verify(text, []string{s.Key}); err != nil {
		warn.say(textf("warning: %s is not of %s as it is now, with the loops that it names: workers run it from "+
			"their own checkouts alone. To sign it again: %s",
			e.p.Short(config.SignatureFile(file)), e.p.Short(file), Do(OpSign, plan.Loop.Name)))
		return nil, nil
	}
	return &Shipped{string(text), *s}, nil
}

// definitionHash distinguishes a definition, with all loops that it names, from others. It is the same in every
// checkout.
func definitionHash(spec persistence.Spec) string {
	if spec.Definition == nil {
		return spec.SHA256
	}
	sum := sha256.Sum256(spec.Definition)
	return hex.EncodeToString(sum[:])
}

// recall has no worker continue a run that no process carries now. done is false where none would.
func (a *asking) recall(ctx context.Context) (done bool, err error) {
	store, ok := a.store.Store.(persistence.Placer)
	if !ok {
		return false, nil
	}
	done, err = store.Recall(ctx, a.id)
	if errors.Is(err, persistence.ErrNoWorkers) {
		return false, nil
	}
	if err != nil {
		return false, a.store.Failed(err)
	}
	now, err := a.now(ctx)
	if err != nil {
		return false, err
	}
	a.Before, a.Run = now, now
	return done, nil
}

// checkPlaced refuses to continue a run for a worker that was taken from the workers meanwhile.
func checkPlaced(ctx context.Context, records *project.Records, id persistence.ID) error {
	if _, ok := records.Store.(persistence.Placer); !ok {
		return nil
	}
	workers, err := ForWorkers(ctx, records, id)
	if err == nil && !workers {
		err = refuse(NotFound, "run %s was stopped before this worker continued it", id)
	}
	return err
}

// withdraw ends a run that is queued, unless a worker was faster: then done is false, and the run is as it is now.
func (a *asking) withdraw(ctx context.Context) (done bool, err error) {
	store, ok := a.store.Store.(persistence.Placer)
	if !ok {
		return false, nil
	}
	err = store.Withdraw(ctx, a.id)
	_, held := errors.AsType[*persistence.HeldError](err)
	_, begun := errors.AsType[*persistence.NotResumableError](err)
	if err != nil && !held && !begun {
		return false, a.store.Failed(err)
	}
	now, nowErr := a.now(ctx)
	if nowErr != nil {
		return false, nowErr
	}
	a.Run = now
	if err != nil {
		a.Before = now
	}
	return err == nil, nil
}
