package cli

import (
	"context"
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/ui/monitor"
	"loops/internal/ui/views"
	"loops/internal/watch"
	"loops/persistence"
)

// A watchScreen is what the screen of watch shows, with what its keys do.
type watchScreen struct {
	*monitor.Monitor
	app *app
}

// Act does to a run what stop, pause, unpause and retry-now do, and returns what they would have printed.
func (l watchScreen) Act(ctx context.Context, c watch.Command) (string, error) {
	found, err := l.Store.Runs(ctx, persistence.Query{ID: persistence.ID(c.Run)})
	if err != nil {
		return "", l.Store.Failed(err)
	}
	if found = project.Current(found); len(found) == 0 {
		return "", failure(engine.NotFound, "run %s is not recorded any more", c.Run)
	}
	r := found[0]
	if c.Verb != watch.Unpause && !project.Alive(r) {
		return "", failure(engine.NotFound, "run %s is %s", r.ID, inspect.Outcome(r))
	}
	e := engine.New(l.Project, l.app.engineOptions())
	defer e.Close()
	s, err := e.Ask(ctx, r.ID, engine.Command{Kind: commandKinds[c.Verb]})
	if err != nil {
		return "", l.app.refused(err)
	}
	text := map[watch.Verb]func() string{
		watch.Stop:    func() string { return views.StoppedText(l.app.page(), s, engine.StopGrace) },
		watch.Pause:   func() string { return views.PausedText(l.app.page(), s) },
		watch.Unpause: func() string { return views.UnpausedText(l.app.page(), r) },
		watch.Retry:   func() string { return wokenText(s) },
	}[c.Verb]()
	if s.Unrecorded != nil {
		text += fmt.Sprintf(" It could not be recorded (%s): the process was sent %s.", oneLine(s.Unrecorded), s.Signal)
	}
	return text, nil
}

// commandKinds are what the keys ask for.
var commandKinds = map[watch.Verb]persistence.CommandKind{
	watch.Stop: persistence.CommandStop, watch.Pause: persistence.CommandPause, watch.Unpause: persistence.CommandUnpause, watch.Retry: persistence.CommandWake,
}
