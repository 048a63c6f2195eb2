package app

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// Told is the result of runs that got a command.
type Told struct {
	Effects []engine.Effect // in the order of the runs, without those that failed

	taken []any // objects of those that were taken out of the queue
}

// Each is called for each effect as it is known; nil = nothing is called.
type Each func(engine.Effect)

// A Stopping is how runs are stopped.
type Stopping struct {
	Grace     time.Duration // see engine.Command
	AfterItem bool          // when the items of their lists that are at work have ended
}

func (s Stopping) command() engine.Command {
	if s.AfterItem {
		return engine.Command{Kind: persistence.CommandDrain, Grace: s.Grace}
	}
	return engine.Command{Kind: persistence.CommandStop, Grace: s.Grace}
}

// Stop has the runs that are running of those that arg means end, all of them if it is "", and takes those that
// wait to begin out of the queue, which is reported on out unless that is nil. The result is nil where nothing
// was asked; the error names what failed.
func (s *Service) Stop(ctx context.Context, arg string, how Stopping, out io.Writer, each Each) (*Told, error) {
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	// Those that wait would begin when the runs end.
	line, _ := InQueue(s.Project) // a queue that cannot be read is not what stop is about
	line = slices.DeleteFunc(line, func(w persistence.Waiter) bool { return arg != "" && !f.IsWaiter(w, arg) })
	taken, err := TakeOutOfQueue(ctx, s.Project.Queue(), line, out)
	errs := []error{err}
	live, err := running(ctx, f, arg, "stop")
	if !isNothing(err) || len(taken) == 0 {
		errs = append(errs, err)
	}
	told, failed := s.tell(ctx, e, live, how.command(), each)
	told.taken = taken
	return told, several(append(errs, failed...))
}

// StopObjects returns those that were taken out of the queue and the runs that were stopped for a program.
func (t *Told) StopObjects() []any {
	return append(t.taken, terminal.List(t.Effects, func(e engine.Effect) any { return view.Stopped(e) })...)
}

// Pause has the runs that are running of those that arg means wait before their next state, all of them if it is "".
func (s *Service) Pause(ctx context.Context, arg string, each Each) (*Told, error) {
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := running(ctx, f, arg, "pause")
	if err != nil {
		return nil, err
	}
	told, failed := s.tell(ctx, e, runs, engine.Command{Kind: persistence.CommandPause}, each)
	return told, several(failed)
}

// PauseObjects returns the runs that were paused for a program.
func (t *Told) PauseObjects() (all []api.Paused) {
	for _, e := range t.Effects {
		all = append(all, view.Paused(e))
	}
	return all
}

// Unpause lets the paused runs of those that arg means continue, all of them if it is "".
func (s *Service) Unpause(ctx context.Context, arg string, each Each) (*Told, error) {
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	var runs []persistence.Run
	if arg == "" {
		runs, err = f.Store.Runs(ctx, persistence.Query{Limit: engine.NewestRuns})
		runs = project.Current(runs)
	} else {
		runs, err = f.Runs(ctx, arg, engine.RecentRuns)
	}
	if err != nil {
		return nil, f.Store.Failed(err)
	}
	var errs []error
	var paused []persistence.Run
	for _, r := range runs {
		is, err := e.Paused(ctx, r)
		if err != nil {
			errs = append(errs, err)
		}
		if is {
			paused = append(paused, r)
		}
	}
	switch {
	case len(paused)+len(errs) > 0:
	case arg == "":
		return nil, engine.Refuse(engine.NotFound, "nothing to unpause: no run is paused")
	case len(runs) == 0:
		return nil, &engine.NothingError{Finder: f, Verb: "unpause", Arg: arg}
	default:
		return nil, engine.Refuse(engine.NotFound, "nothing to unpause: run %s is %s and not paused", runs[0].ID,
			inspect.Outcome(runs[0]))
	}
	told, failed := s.tell(ctx, e, paused, engine.Command{Kind: persistence.CommandUnpause}, each)
	return told, several(append(errs, failed...))
}

// UnpauseObjects returns the runs that were unpaused for a program.
func (t *Told) UnpauseObjects() (all []api.Unpaused) {
	for _, e := range t.Effects {
		all = append(all, view.Unpaused(e))
	}
	return all
}

// Wake ends the waits of the runs that are running of those that arg means.
func (s *Service) Wake(ctx context.Context, arg string, each Each) error {
	e, f, err := s.control(ctx)
	if err != nil {
		return err
	}
	runs, newest, err := f.Live(ctx, arg)
	if err != nil {
		return f.Store.Failed(err)
	}
	if newest == nil {
		return &engine.NothingError{Finder: f, Verb: "wake", Arg: arg}
	}
	live := slices.DeleteFunc(runs, func(r persistence.Run) bool { return !project.Alive(r) })
	if len(live) == 0 {
		more := ""
		if newest.Resumable {
			more = "; resume it: " + s.resume(ctx, *newest)
		}
		return engine.Refuse(engine.NotFound, "nothing to wake: run %s is %s%s", newest.ID, inspect.Outcome(*newest),
			more)
	}
	var errs []error
	woken, busy := 0, live[0]
	for _, r := range live {
		effect, err := e.Ask(ctx, r.ID, engine.Command{Kind: persistence.CommandWake, From: s.From})
		s.unrecorded(effect)
		refusal, ok := errors.AsType[*engine.Refusal](err)
		switch {
		case ok && refusal.Kind == engine.NotFound:
			busy = r
		case err != nil:
			errs = append(errs, err)
		default:
			woken++
			each(effect)
		}
	}
	if woken == 0 && len(errs) == 0 {
		return engine.Refuse(engine.NotFound, "nothing to wake: run %s does not wait; it is in state %s", busy.ID,
			busy.State)
	}
	return several(errs)
}

// running returns the runs that are running of those that arg means, all if it is "". None is an error that
// says so; verb is what was to be done.
func running(ctx context.Context, f project.Finder, arg, verb string) ([]persistence.Run, error) {
	var runs []persistence.Run
	var newest *persistence.Run
	var err error
	if arg == "" {
		runs, err = f.Store.Runs(ctx, persistence.Query{Live: true})
		runs = project.Current(runs)
	} else {
		runs, newest, err = f.Live(ctx, arg)
	}
	if err != nil {
		return nil, f.Store.Failed(err)
	}
	var placed map[persistence.ID]bool
	if verb == "stop" {
		if runs, placed, err = withPlaced(ctx, f, arg, runs, newest); err != nil {
			return nil, f.Store.Failed(err)
		}
	}
	live := slices.DeleteFunc(runs, func(r persistence.Run) bool { return !project.Alive(r) && !placed[r.ID] })
	switch {
	case len(live) > 0:
		return live, nil
	case arg == "":
		return nil, engine.Refuse(engine.NotFound, "nothing to %s: no run is active", verb)
	case newest == nil:
		return nil, &engine.NothingError{Finder: f, Verb: verb, Arg: arg}
	case verb == "stop" && engine.PhaseIn(f.Project.RunDir(newest.ID)) != nil: // its git is to be stopped
		return []persistence.Run{*newest}, nil
	// it would continue by itself
	case verb == "stop" && newest.Status == persistence.Awaiting && newest.Ended == fsm.EndSuspended:
		return []persistence.Run{*newest}, nil
	}
	return nil, engine.Refuse(engine.NotFound, "nothing to %s: run %s is %s", verb, newest.ID, inspect.Outcome(*newest))
}

// withPlaced adds those runs that arg means and that workers begin or continue as soon as they can, and says
// which they are: to stop one means that none does.
func withPlaced(ctx context.Context, f project.Finder, arg string, runs []persistence.Run,
	newest *persistence.Run,
) ([]persistence.Run, map[persistence.ID]bool, error) {
	store, ok := f.Store.Store.(persistence.Placer)
	if !ok {
		return runs, nil, nil
	}
	all, err := store.Placed(ctx, "", 0)
	if err != nil {
		return nil, nil, err
	}
	named := newest != nil && len(runs) == 1 && f.IsNamed(runs[0], arg) // one run is meant, not all of a loop
	placed := make(map[persistence.ID]bool, len(all))
	for _, p := range all {
		placed[p.Run] = true
		known := slices.ContainsFunc(runs, func(r persistence.Run) bool { return r.ID == p.Run })
		if !known && !named && (arg == "" || newest != nil && p.State.Loop == newest.Loop) {
			runs = append(runs, p.State)
		}
	}
	return runs, placed, nil
}

// tell sends several runs the same command, all of them before one is waited for. One that cannot do it does not keep
// the others from it.
func (s *Service) tell(ctx context.Context, e *engine.Engine, runs []persistence.Run, c engine.Command,
	each Each,
) (*Told, []error) {
	type answer struct {
		effect engine.Effect
		err    error
	}
	c.From = s.From
	answers := make([]chan answer, len(runs))
	for i, r := range runs {
		answers[i] = make(chan answer, 1)
		go func() {
			effect, err := e.Ask(ctx, r.ID, c)
			answers[i] <- answer{effect, err}
		}()
	}
	var told Told
	var errs []error
	for _, ch := range answers {
		got := <-ch
		s.unrecorded(got.effect)
		if got.err != nil {
			errs = append(errs, got.err)
			continue
		}
		told.Effects = append(told.Effects, got.effect)
		if each != nil {
			each(got.effect)
		}
	}
	return &told, errs
}

// unrecorded notes that a signal had to do.
func (s *Service) unrecorded(e engine.Effect) {
	if e.Unrecorded != nil {
		s.Note("this cannot be recorded for run %s (%v); its process (pid %d) was sent %s instead", e.Before.ID,
			e.Unrecorded, e.Before.Owner.PID, e.Signal)
	}
}

// isNothing reports whether an error says that there is no such run to do something to, or that nothing went wrong.
func isNothing(err error) bool {
	if err == nil {
		return true
	}
	if _, is := errors.AsType[*engine.NothingError](err); is {
		return true
	}
	refusal, is := errors.AsType[*engine.Refusal](err)
	return is && refusal.Kind == engine.NotFound
}

// several returns errors as one; nil where there are none.
func several(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return engine.Several(errs)
}
