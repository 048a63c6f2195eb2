package app

import (
	"context"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// A Status is the status of a run, or that it waits in the queue.
type Status struct {
	Status  *inspect.Status      // nil = there is no run yet
	Waiting []persistence.Waiter // those in the queue that it is about

	s *Service
}

// Status finds the run that arg means: the one that is running, else the newest one, else who waits in the
// queue to begin it.
func (s *Service) Status(ctx context.Context, arg string) (*Status, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	f.Readings = true
	live, newest, err := f.Live(ctx, arg)
	if err != nil {
		return nil, s.records.Failed(err)
	}
	waiting, err := InQueue(s.Project)
	if err != nil {
		return nil, err
	}
	if newest == nil {
		if i := slices.IndexFunc(waiting, func(w persistence.Waiter) bool { return f.IsWaiter(w, arg) }); i >= 0 {
			return &Status{Waiting: waiting[i : i+1], s: s}, nil
		}
		return nil, NoSuchRun(ctx, f, arg)
	}
	run := *newest
	if i := slices.IndexFunc(live, project.Alive); i >= 0 {
		run = live[i]
	}
	waiting = slices.DeleteFunc(waiting, func(w persistence.Waiter) bool {
		if !f.IsNamed(run, arg) && !project.Alive(run) {
			return w.Loop != run.Loop
		}
		return w.Resumes != run.ID
	})
	// who carries it reads what it needs; its journal is read whole when it is over, and by views of events
	if !project.Alive(run) {
		run = s.records.CheckEvents(ctx, run)
	}
	return &Status{Status: runStatus(ctx, f, run, s.resume(ctx, run)), Waiting: waiting, s: s}, nil
}

// AcceptDamage has no view report any more what is damaged now of the record of the run that arg means, and
// shows what that is.
func (s *Service) AcceptDamage(ctx context.Context, arg string, asJSON bool) error {
	f, err := s.Finder(ctx)
	if err != nil {
		return err
	}
	run, err := OneRun(ctx, f, arg)
	if err != nil {
		return err
	}
	damage, err := s.records.AcceptDamage(ctx, run)
	switch {
	case err != nil:
		return s.records.Failed(err)
	case asJSON:
		return terminal.WriteJSON(s.Page.Out, terminal.List(damage, func(text string) any {
			return api.Change{Instance: string(run.ID), Loop: run.Loop, Kind: "accepted", Why: text}
		}))
	case len(damage) == 0:
		terminal.Say(s.Page.Out, "Nothing to accept: no damage of run %s is known that was not accepted.\n", run.ID)
	}
	for _, text := range damage {
		terminal.Say(s.Page.Out, "accepted %s: %s\n", run.ID, text)
	}
	return nil
}

// Object returns the status for a program.
func (t *Status) Object() any {
	if t.Status == nil {
		return view.QueuedStatus(t.Waiting[0])
	}
	return t.s.Page.Status(t.s.Project, t.s.records, t.Status, t.Waiting)
}

// Print shows the status to a user.
func (t *Status) Print() {
	if t.Status == nil {
		t.s.Page.ShowWaiter(t.s.Project, t.Waiting[0])
		return
	}
	t.s.Page.PrintStatus(t.s.Project, t.s.records, t.Status, t.Waiting)
}

// Unread is the error for a run that could not be read whole.
func (t *Status) Unread() error {
	if t.Status == nil {
		return nil
	}
	return UnreadRuns([]*inspect.Status{t.Status})
}

// A StatusList has all open runs, and who waits in the queue.
type StatusList struct {
	Runs    []*inspect.Status
	Waiting []persistence.Waiter

	s *Service
}

// briefRuns is the number of runs that can be resumed of which status prints everything: that takes its time.
const briefRuns = 20

// Statuses finds the status of every run that is open. memory reports whether their memory is shown too.
func (s *Service) Statuses(ctx context.Context, memory bool) (*StatusList, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	open, err := engine.OpenRuns(ctx, s.records)
	if err != nil {
		return nil, err
	}
	all := &StatusList{s: s}
	if all.Waiting, err = InQueue(s.Project); err != nil {
		return nil, err
	}
	for i, r := range open {
		v := engine.Glimpse(ctx, f, r)
		if project.Alive(r) || i < briefRuns {
			v = runStatus(ctx, f, r, s.resume(ctx, r))
		} else if memory {
			Remember(ctx, f, v)
		}
		all.Runs = append(all.Runs, v)
	}
	return all, nil
}

// Objects returns them for a program.
func (a *StatusList) Objects() []any {
	objects := terminal.List(a.Runs, func(v *inspect.Status) any {
		return a.s.Page.Status(a.s.Project, a.s.records, v, nil)
	})
	for _, w := range a.Waiting {
		objects = append(objects, view.QueuedStatus(w))
	}
	return objects
}

// Print shows them to a user, a few lines each.
func (a *StatusList) Print() {
	for _, v := range a.Runs {
		a.s.Page.PrintBrief(v)
	}
	for _, w := range a.Waiting {
		a.s.Page.PrintWaiter(a.s.Project, w)
	}
	if len(a.Runs)+len(a.Waiting) == 0 {
		terminal.SayLine(a.s.Page.Out, view.NoneOpen)
	}
}

// Unread is the error for runs that could not be read whole.
func (a *StatusList) Unread() error { return UnreadRuns(a.Runs) }
