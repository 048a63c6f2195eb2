package engine

import (
	"context"
	"errors"

	"loops/engine/project"
	"loops/fsm"
)

// OpTrust has a loop run that others wrote.
const OpTrust Operation = "trust"

// trusts refuses to begin a run of a loop that others wrote, until its user has seen it: see
// [project.Project.CheckTrust]. Each way to begin or to continue a run leads here.
func (e *Engine) trusts(ctx context.Context, j *job) error {
	if j.vet == "" {
		return nil
	}
	return VetLoop(ctx, e.p, j.vet)
}

// VetLoop refuses to start anything of a loop in a file that others wrote, until its user has seen it.
func VetLoop(ctx context.Context, p *project.Project, file string) error {
	return vetted(p.CheckTrust(ctx, file))
}

// Vet is what [Engine.Start] does first, for callers that have another process begin the run.
func (e *Engine) Vet(ctx context.Context, r StartRequest) error {
	if r.Shipped != nil || r.Fork != nil {
		return nil
	}
	lib, err := e.p.Library()
	if err != nil {
		return err
	}
	file, err := lib.Find(r.Loop)
	if err != nil {
		return err
	}
	return VetLoop(ctx, e.p, file)
}

// vetted is an error of CheckTrust as a refusal.
func vetted(err error) error {
	u, ok := errors.AsType[*project.UntrustedError](err)
	if !ok {
		return err
	}
	text := textf("%v. Look at it, then have it run: %s", u, Do(OpTrust, u.Target))
	if u.Unknown != "" {
		text = textf("%v; %s", u, u.Unknown)
	}
	return &Refusal{Kind: Untrusted, Err: u, Text: text}
}

// trustOf returns what refuses a loop that a state is about to run, if it was not there when the run began and others
// wrote it. It is for one goroutine at a time.
func (j *job) trustOf(ctx context.Context) func(*fsm.Loop) error {
	known := map[string]bool{}
	if def := j.keeper.Def; def != nil {
		for _, l := range def.Loops {
			known[l.File+l.Sha256] = true
		}
	}
	p := j.project
	return func(l *fsm.Loop) error {
		if known[l.File+l.SHA256] {
			return nil
		}
		err := VetLoop(ctx, p, l.File)
		if err == nil {
			known[l.File+l.SHA256] = true
		}
		return err
	}
}
