package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
)

type rmOptions struct{ force, json bool }

func newRmCommand(a *app) *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:   "rm RUN...",
		Short: "Remove recorded runs",
		Long: `rm removes the runs RUN for good: their events, memory and definition, their working folders, and their logs where they
ran in the background. It says how much room that made. A run that goes on is never removed, and one that can be resumed
only with --force. Unless every RUN can be removed, none is.

If rm dies halfway, a run is there whole or gone; what is left of its files the next rm, prune or sweep removes. In a
database the room is used again for other runs; a file of SQLite does not get shorter. A run that was copied to
another store has one working folder and one log with the copy: rm removes them.` +
			exitMeanings(exitMeaning{exitOK, "every run is gone"}, exitMeaning{exitFailed, "a run is gone, but not all of its files"},
				exitMeaning{exitUsage, "bad command line"}, exitMeaning{exitNotFound, "no such run, or no database of runs there; nothing was removed"},
				exitMeaning{exitConflict, "a run goes on, or can be resumed and --force is missing; nothing was removed"},
				exitMeaning{exitRecord, "the records of runs cannot be used"}),
		Example: `  loops rm fix-20261121T103405
  loops rm fix-20261121T103405 fix-20261121T110000 --force`,
		Args: arguments(1, -1, "RUN, the id of a run"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRm(cmd.Context(), a, o, args) },
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "remove also runs that could be resumed")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

func runRm(ctx context.Context, a *app, o rmOptions, args []string) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	finished, unfinished := engine.FinishRemovals(ctx, store)
	f := store.Finder()
	var todo []removal
	var errs []error
	for _, arg := range args {
		r, err := exactly(ctx, f, arg)
		if err != nil && slices.Contains(finished, persistence.ID(arg)) {
			continue
		}
		if err == nil && !o.force && r.Resumable && !project.Alive(r) {
			err = failure(exitConflict, "run %s is %s and can be resumed; to remove it all the same: --force", r.ID, r.Status)
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case project.Alive(r):
			errs = append(errs, &persistence.HeldError{ID: r.ID, Owner: r.Owner})
		case !slices.ContainsFunc(todo, func(t removal) bool { return t.run.ID == r.ID }):
			todo = append(todo, removal{run: r})
		}
	}
	if len(errs) > 0 {
		return joined(append(errs, unfinished, errors.New("nothing was removed")))
	}
	if err := measure(ctx, store, todo); err != nil {
		return store.Failed(err)
	}
	todo, err = removeRuns(ctx, todo, store)
	err = joined([]error{unfinished, err})
	a.tellTrees(ctx, p, todo)
	if o.json {
		return errors.Join(err, ui.WriteJSON(a.out, value.NewMap("removed", ui.List(todo, removal.object), "bytes", total(todo), "finished", ui.List(finished, func(id persistence.ID) any { return string(id) }))))
	}
	a.tellFinished(finished)
	for _, t := range todo {
		ui.Say(a.out, "Removed %s (%s, %s).\n", t.run.ID, t.run.Status, phrase.Bytes(t.bytes))
	}
	return err
}

// exactly returns the run with this id. A loop's name is not enough.
func exactly(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	found, err := f.Run(ctx, "", arg)
	if err == nil && len(found) == 0 { // one nobody can read may have an id of no form
		found, err = f.Store.Runs(ctx, persistence.Query{ID: persistence.ID(arg)})
		found = project.Current(found)
	}
	switch {
	case err != nil:
		return persistence.Run{}, f.Store.Failed(err)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return persistence.Run{}, project.Only(arg, found)
	}
	runs, err := f.Store.Runs(ctx, persistence.Query{})
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	var ids []string
	n := 0
	for _, r := range runs {
		ids = append(ids, string(r.ID))
		if r.Loop == arg {
			n++
		}
	}
	if n > 0 {
		return persistence.Run{}, failure(exitNotFound, "%s is a loop with %s, and no run; loops history %s lists their ids, loops prune removes old ones", arg, phrase.Count(n, "run"), quote(arg))
	}
	if near := phrase.Nearest(arg, ids); near != "" {
		return persistence.Run{}, failure(exitNotFound, "there is no run %s; did you mean %s?", arg, near)
	}
	return persistence.Run{}, failure(exitNotFound, "there is no run %s; loops history NAME lists the runs of a loop", arg)
}

// A removal is a run that is to go.
type removal struct {
	run   persistence.Run
	bytes int64 // see records.Size
}

func (r removal) object() any {
	return value.NewMap("instance_id", string(r.run.ID), "loop", r.run.Loop, "status", ui.OrNull(string(r.run.Status)), "started_at", ui.Stamp(r.run.StartedAt), "bytes", r.bytes)
}

func total(rs []removal) (n int64) {
	for _, r := range rs {
		n += r.bytes
	}
	return n
}

// measure finds out how much room runs take. One that went since it was listed takes none.
func measure(ctx context.Context, store *project.Records, rs []removal) (err error) {
	for i := range rs {
		if rs[i].bytes, err = store.Size(ctx, rs[i].run.ID); err != nil && !errors.Is(err, persistence.ErrNotFound) {
			return err
		}
	}
	return nil
}

// removeRuns removes runs and returns those that are gone by it. One that cannot be removed does not keep the others.
func removeRuns(ctx context.Context, todo []removal, store *project.Records) (gone []removal, _ error) {
	var errs []error
	for _, t := range todo {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		err := store.Remove(ctx, t.run.ID)
		_, remains := errors.AsType[*persistence.RemainsError](err)
		switch {
		case remains:
			errs = append(errs, failure(exitFailed, "%v; remove them by hand", err))
		case errors.Is(err, persistence.ErrNotFound):
			continue // somebody else was quicker
		case err != nil:
			errs = append(errs, fmt.Errorf("run %s was not removed: %w", t.run.ID, err))
			continue
		}
		gone = append(gone, t)
	}
	return gone, joined(errs)
}
