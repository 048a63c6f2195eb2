package cli

import (
	"context"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/terminal"
)

// again is the command line with the first of the runs instead of what was written.
func again(e *project.AmbiguousError, args []string) string {
	i := slices.Index(args, e.Arg)
	if i < 0 {
		return ""
	}
	args = slices.Clone(args)
	args[i] = string(e.Runs[0].ID)
	return "\nfor example: " + argvText(argvShown(args))
}

// nothingTo says that there is nothing to do something to, because arg has no run. more is what to do about that where
// there is such a loop.
func nothingTo(ctx context.Context, f project.Finder, verb, arg, more string) error {
	if project.LoopOf(arg) == "" {
		if _, err := f.Project.Resolve(arg); err == nil {
			return failure(engine.NotFound, "nothing to %s: %s has no recorded run%s", verb, arg, more)
		}
	}
	code, text := explain(app.NoSuchRun(ctx, f, arg))
	return failureOf(code, "nothing to %s: %s", verb, terminal.Block(text))
}
