package app

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/view"
)

// Explain returns why a run ended, or the result of one of its steps: an address, or "last"; "" is the whole run.
func (s *Service) Explain(ctx context.Context, arg, step string) (*inspect.Story, error) {
	if err := checkStep(step); err != nil {
		return nil, err
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	run, err := OneRun(ctx, f, arg)
	if err != nil {
		return nil, err
	}
	rules := RulebookOf(ctx, f, run)
	story := &inspect.Story{
		Wanted: step, Rules: rules, Note: rules.Note, Alive: project.Alive(run),
		Wait: WaitNow(ctx, f, run), Resume: s.resume(ctx, run),
	}
	damaged := false
	if story.Path, err = Path(ctx, f, run, &inspect.Reader{
		Keep: true, Done: story.Add, Inside: story.AddInside,
		Each: story.Hear,
	}, func(err error, then string) { damaged = true; s.damaged(err, then) }); err != nil {
		return nil, err
	}
	if damaged { // it is on record now
		if now, err := f.Named(ctx, string(run.ID)); err == nil && now != nil {
			story.Path.Run.Damage = now.Damage
		}
	}
	if step == "" {
		story.WholeRun()
	} else if !story.Steps() {
		return nil, view.NoSuchStep(run, step, story.Last())
	}
	return story, nil
}

// Receipt returns the receipt of a run.
func (s *Service) Receipt(ctx context.Context, run string) (*engine.RunReceipt, error) {
	e, _, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	return e.Receipt(ctx, run)
}

// Blame finds the step that wrote a line of a file, as [engine.Engine.Blame] does, and what is to be said of it.
func (s *Service) Blame(ctx context.Context, file string, line int) (*engine.Blamed, *inspect.Story, error) {
	e, _, err := s.control(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, err := e.Blame(ctx, file, line)
	if err != nil {
		return nil, nil, err
	}
	story, err := s.Explain(ctx, string(b.Run.ID), b.Snapshot.Step)
	return b, story, err
}

// checkStep refuses what is no step.
func checkStep(step string) error {
	if _, ok := fsm.ParseAddress(step); ok || step == "" || step == "last" {
		return nil
	}
	return engine.Misuse("explain", "%q is no step: expected a number from 1, an address such as 3/2 or "+
		"2/lint/1, or last", step)
}
