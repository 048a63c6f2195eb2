package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/signing"
	"loops/persistence"
)

// Submit records a run for workers, which is queued then, and returns it: it is durable, and nothing of it is run. The job says who may carry it; its run,
// hash and request are filled in. What a start refuses is refused here, as far as this machine can decide. Only runs in
// PostgreSQL can be submitted.
func (e *Engine) Submit(ctx context.Context, r StartRequest, j persistence.Job) (persistence.Run, error) {
	if r.Tree != (TreeRequest{}) {
		return persistence.Run{}, misuse(OpSubmit, "a submitted run works in the files of its worker, and has no work tree of its own")
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
	spec := plan.job.spec
	spec.Owner, spec.StartedAt = persistence.Owner{}, time.Now()
	j.Hash = definitionHash(spec)
	if filepath.Base(r.Loop) != r.Loop { // a path: the worker finds it from its own checkout
		r.Loop = "." + string(filepath.Separator) + spec.File
		if filepath.IsAbs(spec.File) {
			r.Loop = spec.File
		}
	}
	r.Hash, r.ID = j.Hash, ""
	if r.Shipped, err = e.signed(plan, r.Warn); err != nil {
		return persistence.Run{}, err
	}
	if j.Request, err = json.Marshal(r); err != nil {
		return persistence.Run{}, err
	}
	memory := &fsm.Snapshot{Loop: plan.Loop.Name, Phase: fsm.PhasePending, Current: plan.Loop.Initial, StartedAt: spec.StartedAt, Context: plan.Values, Captured: value.NewMap()}
	run, err := placer.Submit(ctx, spec, memory, j)
	if errors.Is(err, persistence.ErrNoWorkers) {
		err = because(Usage, err, "cannot submit")
	}
	return run, err
}

// DefinitionText returns a loop and the text of its definition, with all loops that it names: what Submit takes the hash of and loops sign signs.
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

// signed returns the definition of a plan with the signature beside the file of its loop, nil if there is none. One of another definition is warned of: the
// run can be submitted without.
func (e *Engine) signed(plan *Plan, warn Warn) (*Shipped, error) {
	file := plan.Loop.File
	s, err := signing.Read(file)
	if err != nil {
		return nil, refuse(Failed, "%s cannot be read: %v", e.p.Short(signing.File(file)), project.Cause(err))
	}
	if s == nil {
		return nil, nil
	}
	text := plan.job.spec.Definition
	if err := s.Verify(text, []string{s.Key}); err != nil {
		warn.say(textf("warning: %s is not of %s as it is now, with the loops that it names: workers run it from their own checkouts alone. To sign it again: %s",
			e.p.Short(signing.File(file)), e.p.Short(file), Do(OpSign, plan.Loop.Name)))
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
