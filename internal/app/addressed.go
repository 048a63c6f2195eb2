package app

import (
	"context"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/persistence"
)

// Addressed returns the run that a command is for, which arg means: the one with that id, the running one of
// the loop, or else its newest one that can be resumed, or its newest. It reports false if there is none, and
// refuses where several could be meant.
func Addressed(ctx context.Context, f project.Finder, arg string) (persistence.Run, bool, error) {
	runs, newest, err := f.Live(ctx, arg)
	switch {
	case err != nil:
		return persistence.Run{}, false, f.Store.Failed(err)
	case newest == nil:
		return persistence.Run{}, false, nil
	case f.IsNamed(*newest, arg):
		return *newest, true, nil
	}
	open := slices.DeleteFunc(slices.Clone(runs), func(r persistence.Run) bool { return !project.Alive(r) })
	if len(open) == 0 {
		open = slices.DeleteFunc(runs, func(r persistence.Run) bool { return !r.Resumable })
	}
	switch len(open) {
	case 0:
		return *newest, true, nil
	case 1:
		return open[0], true, nil
	}
	ids := make([]string, len(open))
	for i, r := range open {
		ids[i] = string(r.ID)
	}
	return persistence.Run{}, false, engine.Refuse(engine.Usage,
		"%s has several runs that could be meant; name one of them: %s", humanize.Quote(arg), strings.Join(ids, ", "))
}
