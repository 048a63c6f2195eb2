package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/fsm/loopfile"
	"loops/internal/phrase"
	"loops/persistence"
)

// wordLast means the newest run of the project, where no loop has that name.
const wordLast = "last"

// last returns the newest run of the project if arg asks for it.
func (f finder) last(ctx context.Context, arg string) ([]persistence.Run, error) {
	if arg != wordLast {
		return nil, nil
	}
	if _, err := f.project.resolve(arg); err == nil {
		return nil, nil
	}
	if runs, err := f.store.Runs(ctx, persistence.Query{Loop: arg, Limit: 1}); err != nil || len(runs) > 0 {
		return nil, err
	}
	runs, err := f.store.Runs(ctx, persistence.Query{Limit: 2}) // one may be there twice
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return current(runs)[:1], nil
}

// An ambiguousError means that what a person wrote is the name of more than one run.
type ambiguousError struct {
	arg  string
	what string // what is wrong with it
	runs []persistence.Run
}

// only returns an error where arg is the id of more than one run.
func only(arg string, runs []persistence.Run) error {
	if len(runs) < 2 {
		return nil
	}
	return &ambiguousError{arg, fmt.Sprintf("%s is the id of %d runs", arg, len(runs)), runs}
}

func (e *ambiguousError) Error() string {
	var rows [][]string
	for _, r := range e.runs {
		rows = append(rows, []string{"  " + string(r.ID), statusWord(r), "started " + clock(r.StartedAt)})
	}
	var b strings.Builder
	writeTable(&b, rows)
	return clean(e.what) + "; name one of them:\n" + strings.TrimRight(b.String(), "\n")
}

// again is the command line with the first of the runs in the place of what was written.
func (e *ambiguousError) again(args []string) string {
	i := slices.Index(args, e.arg)
	if i < 0 {
		return ""
	}
	args = slices.Clone(args)
	args[i] = string(e.runs[0].ID)
	return "\nfor example: " + commandText(shownArguments(args))
}

// nearRuns is among how many of the newest runs a name is looked for that may have been meant.
const nearRuns = 1000

// noSuchRun says that arg means no run, and what it may have been meant to be.
func noSuchRun(ctx context.Context, f finder, arg string) error {
	text := fmt.Sprintf("there is no run %s", arg)
	if loopOf(arg) == "" {
		_, err := f.project.resolve(arg)
		if err == nil {
			return failure(exitNotFound, "loop %s has no recorded run yet; see: loops history %s", arg, quote(arg))
		}
		missing, ok := errors.AsType[*loopfile.NotFoundError](err)
		if !ok {
			return notFound(f.project, err)
		}
		text = fmt.Sprintf("there are no runs of %q, and no such loop", arg)
		if len(missing.Near) > 0 {
			return failure(exitNotFound, "%s; did you mean %s?", text, strings.Join(missing.Near, " or "))
		}
	}
	if near := f.near(ctx, arg); near != "" {
		return failure(exitNotFound, "%s; did you mean %s?", text, near)
	}
	if loop := loopOf(arg); loop != "" && loop != "*" {
		if runs, err := f.loop(ctx, loop, 1); err == nil && len(runs) > 0 {
			return failure(exitNotFound, "%s; the newest run of %s is %s, and this lists all: loops history %s", text, loop, runs[0].ID, quote(loop))
		}
	}
	return failure(exitNotFound, "%s; see: loops list, loops history NAME", text)
}

// near is the recorded loop or run that is most like arg, "" if none is.
func (f finder) near(ctx context.Context, arg string) string {
	runs, err := f.store.Runs(ctx, persistence.Query{Limit: nearRuns})
	if err != nil {
		return ""
	}
	var names []string
	for _, r := range runs {
		if loopOf(arg) != "" {
			names = append(names, string(r.ID), r.RunID, usualID(r))
		} else {
			names = append(names, r.Loop, string(r.ID))
		}
	}
	return phrase.Nearest(arg, names)
}

// nothingTo says that there is nothing to do something to, because arg has no run. more is what to do about that where
// there is such a loop.
func (f finder) nothingTo(ctx context.Context, verb, arg, more string) error {
	if loopOf(arg) == "" {
		if _, err := f.project.resolve(arg); err == nil {
			return failure(exitNotFound, "nothing to %s: %s has no recorded run%s", verb, arg, more)
		}
	}
	code, text := explain(noSuchRun(ctx, f, arg))
	return failure(code, "nothing to %s: %s", verb, block(text))
}

// noLoop says that arg is no loop, for commands that are about all runs of one.
func (f finder) noLoop(ctx context.Context, arg string) error {
	if found, err := f.run(ctx, "", arg); err == nil && len(found) > 0 {
		if err := only(arg, found); err != nil {
			return err
		}
		return failure(exitUsage, "%s is a run, and the name of a loop is expected: %s", arg, found[0].Loop)
	}
	return noSuchRun(ctx, f, arg)
}

// heldText says that a live process owns a run, and what to do.
func heldText(e *persistence.HeldError) string {
	r := persistence.Run{ID: e.ID, Owner: e.Owner, Held: true}
	if outOfSight(r) {
		return awayText(r, "stop")
	}
	return e.Error() + "; wait for it, or: loops stop " + quote(string(e.ID))
}
