package cli

import (
	"context"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/watch"
	"loops/persistence"
)

// Act does to a run what stop, pause, unpause and retry-now do, and returns what they would have printed.
func (l *looker) Act(ctx context.Context, c watch.Command) (string, error) {
	found, err := l.Store.Runs(ctx, persistence.Query{ID: persistence.ID(c.Run)})
	if err != nil {
		return "", l.Store.Failed(err)
	}
	if found = project.Current(found); len(found) == 0 {
		return "", failure(engine.NotFound, "run %s is not recorded any more", c.Run)
	}
	r := found[0]
	if c.Verb != watch.Unpause && !project.Alive(r) {
		return "", failure(engine.NotFound, "run %s is %s", r.ID, inspect.StatusWord(r))
	}
	switch c.Verb {
	case watch.Stop:
		if err := askToStop(l.Store, r); err != nil {
			return "", err
		}
		s, err := finishStop(ctx, l.Finder, r, time.Now().Add(stopWait), stopWait)
		if err != nil {
			return "", err
		}
		return s.text(l.app, stopWait), nil
	case watch.Pause:
		if err := askToPause(l.Project, l.Store, r); err != nil {
			return "", err
		}
		w, err := awaitPause(ctx, l.Store, r, time.Now().Add(pauseWait))
		if err != nil {
			return "", err
		}
		return pausedText(l.app, r, w), nil
	case watch.Unpause:
		if _, paused := l.Project.PausedSince(r.ID); !paused {
			return "", failure(engine.NotFound, "nothing to unpause: run %s is %s and not paused", r.ID, inspect.StatusWord(r))
		}
		if err := unpause(ctx, l.Project, l.Store, r); err != nil {
			return "", err
		}
		return unpausedText(l.app, r), nil
	case watch.Retry:
		w, err := l.app.wakeRun(ctx, l.Store, r)
		if err != nil {
			return "", err
		}
		if w == nil {
			return "", failure(engine.NotFound, "nothing to wake: run %s does not wait; it is in state %s", r.ID, r.State)
		}
		return wokenText(r, w), nil
	}
	return "", nil
}
