package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/internal/ui"
)

// again is the command line with the first of the runs in the place of what was written.
func again(e *project.AmbiguousError, args []string) string {
	i := slices.Index(args, e.Arg)
	if i < 0 {
		return ""
	}
	args = slices.Clone(args)
	args[i] = string(e.Runs[0].ID)
	return "\nfor example: " + commandText(shownArguments(args))
}

// noSuchRun says that arg means no run, and what it may have been meant to be.
func noSuchRun(ctx context.Context, f project.Finder, arg string) error {
	text := fmt.Sprintf("there is no run %s", arg)
	if project.LoopOf(arg) == "" {
		_, err := f.Project.Resolve(arg)
		if err == nil {
			return failure(engine.NotFound, "loop %s has no recorded run yet; see: loops history %s", arg, quote(arg))
		}
		missing, ok := errors.AsType[*loopfile.NotFoundError](err)
		if !ok {
			return project.NotFound(f.Project, err)
		}
		text = fmt.Sprintf("there are no runs of %q, and no such loop", arg)
		if len(missing.Near) > 0 {
			return failure(engine.NotFound, "%s; did you mean %s?", text, strings.Join(missing.Near, " or "))
		}
	}
	if near := f.Near(ctx, arg); near != "" {
		return failure(engine.NotFound, "%s; did you mean %s?", text, near)
	}
	if loop := project.LoopOf(arg); loop != "" && loop != "*" {
		if runs, err := f.Loop(ctx, loop, 1); err == nil && len(runs) > 0 {
			return failure(engine.NotFound, "%s; the newest run of %s is %s, and this lists all: loops history %s", text, loop, runs[0].ID, quote(loop))
		}
	}
	return failure(engine.NotFound, "%s; see: loops list, loops history NAME", text)
}

// nothingTo says that there is nothing to do something to, because arg has no run. more is what to do about that where
// there is such a loop.
func nothingTo(ctx context.Context, f project.Finder, verb, arg, more string) error {
	if project.LoopOf(arg) == "" {
		if _, err := f.Project.Resolve(arg); err == nil {
			return failure(engine.NotFound, "nothing to %s: %s has no recorded run%s", verb, arg, more)
		}
	}
	code, text := explain(noSuchRun(ctx, f, arg))
	return failureOf(code, "nothing to %s: %s", verb, ui.Block(text))
}

// noLoop says that arg is no loop, for commands that are about all runs of one.
func noLoop(ctx context.Context, f project.Finder, arg string) error {
	if found, err := f.Run(ctx, "", arg); err == nil && len(found) > 0 {
		if err := project.Only(arg, found); err != nil {
			return err
		}
		return failure(engine.Usage, "%s is a run, and the name of a loop is expected: %s", arg, found[0].Loop)
	}
	return noSuchRun(ctx, f, arg)
}
