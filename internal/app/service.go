package app

import (
	"cmp"
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/view"
	"loops/persistence"
)

// A Service answers for one project. It is for one caller at a time, who closes it when what it returned has
// been shown.
type Service struct {
	Project *project.Project
	Page    *view.Page                     // its commands are those of answers
	Engine  func() (*engine.Engine, error) // makes the engine that sends commands to runs
	From    string                         // who asks, for the records of runs; "" = a user
	// takes what is to be printed beside the answer, as [loops/internal/terminal.Say] has it
	Note func(format string, args ...any)

	records *project.Records // nil = not opened yet
	engine  *engine.Engine   // nil = none was needed; else it owns records
}

// Close releases the records and the engine.
func (s *Service) Close() {
	switch {
	case s.engine != nil:
		s.engine.Close()
	case s.records != nil:
		_ = s.records.Close()
	}
}

// Finder opens the records to look at, and returns what finds runs in them.
func (s *Service) Finder(ctx context.Context) (project.Finder, error) {
	if s.records == nil {
		r, err := s.Project.Records(ctx, false)
		if err != nil {
			return project.Finder{}, err
		}
		s.records = r
	}
	return s.records.Finder(), nil
}

// LoopFile returns the path of the loop file of a run, or of the newest run of a loop.
func (s *Service) LoopFile(ctx context.Context, name string) (string, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return "", err
	}
	run, err := OneRun(ctx, f, name)
	if err != nil {
		return "", err
	}
	return s.Project.Resolve(cmp.Or(run.File, run.Loop))
}

// control makes the engine by which runs get commands, once, and returns what finds them in its records.
func (s *Service) control(ctx context.Context) (*engine.Engine, project.Finder, error) {
	if s.engine != nil {
		return s.engine, s.records.Finder(), nil
	}
	e, err := s.Engine()
	if err != nil {
		return nil, project.Finder{}, err
	}
	r, err := e.Records(ctx)
	if err != nil {
		e.Close()
		return nil, project.Finder{}, err
	}
	s.engine, s.records = e, r
	return e, r.Finder(), nil
}

// SnapshotDiff is [engine.Engine.SnapshotDiff].
func (s *Service) SnapshotDiff(ctx context.Context, run persistence.Run, number int) (*engine.SnapshotDiff, error) {
	e, _, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	return e.SnapshotDiff(ctx, run, number)
}

// StepDiff is [engine.Engine.StepDiff].
func (s *Service) StepDiff(ctx context.Context, run persistence.Run, step string) (*engine.StepDiff, error) {
	e, _, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	return e.StepDiff(ctx, run, step)
}

// resume is the command that continues a run.
func (s *Service) resume(ctx context.Context, r persistence.Run) string {
	return s.Page.Remedy(engine.GoOnRemedy(ctx, s.records, r))
}

// continues says what continues a run that no process carries.
func (s *Service) continues(ctx context.Context, r persistence.Run) string {
	if workers, err := engine.ForWorkers(ctx, s.records, r.ID); err == nil && workers {
		return "when a worker carries it"
	}
	return "when it is resumed: " + s.resume(ctx, r)
}

// damaged reports damage in the records of a run.
func (s *Service) damaged(err error, then string) { s.Note("%v; %s", err, then) }
