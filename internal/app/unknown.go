package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
)

// NoSuchRun says that arg means no run, and what it may have been meant to be.
func NoSuchRun(ctx context.Context, f project.Finder, arg string) error {
	text := fmt.Sprintf("there is no run %s", arg)
	if project.LoopOf(arg) == "" {
		_, err := f.Project.Resolve(arg)
		if err == nil {
			return engine.Refuse(engine.NotFound, "loop %s has no recorded run yet; start one: %s", arg,
				engine.Do(engine.OpRun, arg))
		}
		missing, ok := errors.AsType[*loopfile.NotFoundError](err)
		if !ok {
			return project.NotFound(f.Project, err)
		}
		text = fmt.Sprintf("there are no runs of %q, and no such loop", arg)
		if len(missing.Near) > 0 {
			return engine.Refuse(engine.NotFound, "%s; did you mean %s?", text, strings.Join(missing.Near, " or "))
		}
	}
	if near := f.Near(ctx, arg); near != "" {
		return engine.Refuse(engine.NotFound, "%s; did you mean %s?", text, near)
	}
	if loop := project.LoopOf(arg); loop != "" && loop != "*" {
		if runs, err := f.Loop(ctx, loop, 1); err == nil && len(runs) > 0 {
			return engine.Refuse(engine.NotFound, "%s; the newest run of %s is %s, and this lists all: %s", text,
				loop, runs[0].ID, engine.Do(engine.OpHistory, loop))
		}
	}
	return engine.Refuse(engine.NotFound, "%s; see: %s, %s", text, engine.Do("list", ""),
		engine.Do(engine.OpHistory, "NAME"))
}

// noLoop says that arg is no loop, for commands that are about all runs of one.
func noLoop(ctx context.Context, f project.Finder, arg string) error {
	if found, err := f.Run(ctx, "", arg); err == nil && len(found) > 0 {
		if err := project.Only(arg, found); err != nil {
			return err
		}
		return engine.Refuse(engine.Usage, "%s is a run, and the name of a loop is expected: %s", arg, found[0].Loop)
	}
	return NoSuchRun(ctx, f, arg)
}
