package app

import (
	"context"
	"iter"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// LastEvents returns the last n events that keep accepts, 0 for all, and the damage between them. Memory is
// bounded by n.
func LastEvents(events iter.Seq2[fsm.Event, error], keep func(fsm.Event) bool, n int) (last []fsm.Event,
	damage []error, err error,
) {
	next := 0
	for e, problem := range events {
		if problem != nil {
			if !project.IsDamage(problem) {
				return nil, damage, problem
			}
			if len(damage) < 10 {
				damage = append(damage, problem)
			}
			continue
		}
		switch {
		case !keep(e):
		case n <= 0 || len(last) < n:
			last = append(last, e)
		default:
			last[next] = e
			next = (next + 1) % n
		}
	}
	return append(last[next:len(last):len(last)], last[:next]...), damage, nil
}

// PickRun finds one run of a loop, with its reading.
func PickRun(ctx context.Context, f project.Finder, loop, run string) (persistence.Run, error) {
	f.Readings = true
	if named, err := f.Named(ctx, loop); err != nil || named != nil {
		switch {
		case err != nil:
			return persistence.Run{}, err
		case run == project.Last || run == string(named.ID):
			return *named, nil
		}
		return persistence.Run{}, engine.Refuse(engine.NotFound, "%s is a run, and its events are: %s", loop,
			engine.Do(engine.OpHistory, loop))
	}
	recorded := false
	for _, name := range []string{loop, f.NameIn(loop)} {
		if name == "" {
			continue
		}
		var found []persistence.Run
		var err error
		if run == project.Last {
			found, err = f.Loop(ctx, name, 1)
		} else {
			found, err = f.Run(ctx, name, run)
		}
		if err != nil {
			return persistence.Run{}, f.Store.Failed(err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
		if run != project.Last && !recorded {
			one, err := f.Loop(ctx, name, 1)
			if err != nil {
				return persistence.Run{}, f.Store.Failed(err)
			}
			recorded = len(one) > 0
		}
	}
	if !recorded {
		return persistence.Run{}, NoSuchRun(ctx, f, loop)
	}
	return persistence.Run{}, engine.Refuse(engine.NotFound, "loop %s has no run %s; see: %s", loop, run,
		engine.Do(engine.OpHistory, loop))
}
