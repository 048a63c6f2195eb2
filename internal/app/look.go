package app

import (
	"context"
	"fmt"

	"loops/engine"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// Cost returns what a run used, state by state, for a program.
func (s *Service) Cost(ctx context.Context, arg string) (any, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	run, err := OneRun(ctx, f, arg)
	if err != nil {
		return nil, err
	}
	known, err := s.Project.Pricer()
	if err != nil {
		return nil, err
	}
	sheet, err := CostSheet(ctx, f, run, known, s.damaged)
	if err != nil {
		return nil, err
	}
	return view.RunCost(run, sheet), nil
}

// Compare puts the steps of two runs beside each other.
func (s *Service) Compare(ctx context.Context, first, second string) (*view.Comparison, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	var kinds inspect.StepKinds
	d := &view.Comparison{}
	for i, name := range []string{first, second} {
		run, err := OneRun(ctx, f, name)
		if err != nil {
			return nil, err
		}
		if i == 1 && run.ID == d.Sides[0].Run.ID {
			return nil, engine.Misuse("diff", "%s and %s are the same run, %s", first, second, run.ID)
		}
		d.Steps[i] = inspect.NewStepList(&kinds)
		if d.Sides[i], err = Path(ctx, f, run, &inspect.Reader{Done: d.Steps[i].Add}, s.damaged); err != nil {
			return nil, err
		}
		if d.Memory[i], err = s.records.MemoryOf(ctx, run); err != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("What run %s had captured cannot be read: %v", run.ID, err))
		}
	}
	d.Compare()
	return d, nil
}

// Questions returns those that are open for a program: of the run that arg means, or of all runs for "".
func (s *Service) Questions(ctx context.Context, arg string) ([]any, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	open, err := OpenQuestions(ctx, f.Store, arg)
	if err != nil {
		return nil, err
	}
	return terminal.List(open, func(q engine.Question) any { return Pending(q).Object() }), nil
}

// Queue returns who waits in the queue of the project for a program, in the order of their places.
func (s *Service) Queue() ([]any, error) {
	line, err := InQueue(s.Project)
	if err != nil {
		return nil, err
	}
	return terminal.List(line, func(w persistence.Waiter) any { return view.Waiter(w, line) }), nil
}
