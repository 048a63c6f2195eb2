package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
)

type storeCopyOptions struct{ json bool }

func newStoreCopyCommand(a *app) *cobra.Command {
	var o storeCopyOptions
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy all runs of a store to another one",
		Long: `copy copies the runs of the store FROM, with their histories, memories and definitions, to the store TO, which is made if
need be. Both are dir, sqlite:PATH or postgres://USER@HOST/NAME. A run keeps its id; each is there whole or not at all, and
after copying it both stores are read and compared: the count of its events, and the SHA-256 of events and memory.

Nothing in TO is overwritten. A run that is there already is compared; if it is another one, that is an error. So copy can be
stopped at any time and called again, and goes on. A run that goes on is left out, which is said and ends with 9: stop it, or
copy again later. A damaged run is not copied.

FROM stays as it is. From then on a run should be resumed in one of the stores only: they share its working folder.` +
			exitMeanings(exitMeaning{exitOK, "every run is in both stores"}, exitMeaning{exitFailed, "a run in TO is another one, or a copy is not what it should be"},
				exitMeaning{exitUsage, "bad command line"}, exitMeaning{exitNotFound, "there is no such database to copy from"},
				exitMeaning{exitConflict, "a run that goes on was left out"}, exitMeaning{exitRecord, "a store cannot be used, or a run is damaged"}),
		Example: `  loops store copy dir sqlite:.loops/runs.db
  loops store copy sqlite:.loops/runs.db postgres://me@db.example/runs`,
		Args: arguments(2, 2, "FROM and TO, where runs are recorded"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStoreCopy(cmd.Context(), a, o, args[0], args[1])
		},
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array of the runs")
	return cmd
}

// What became of a run.
const (
	copied   = "copied"
	already  = "already there"
	leftOut  = "goes on"
	differs  = "another one is there"
	notTaken = "not copied"
)

// A copyResult says what became of a run.
type copyResult struct {
	run    persistence.Run
	result string
	digest persistence.Digest
	err    error
}

func runStoreCopy(ctx context.Context, a *app, o storeCopyOptions, fromArg, toArg string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	fromAt, err := p.Locate(fromArg, "FROM")
	if err != nil {
		return err
	}
	toAt, err := p.Locate(toArg, "TO")
	if err != nil {
		return err
	}
	if fromAt == toAt {
		return usageError{"FROM and TO are the same store", "loops store copy --help"}
	}
	if path, missing := project.MissingFile(fromAt); missing {
		return failure(engine.NotFound, "there is no database %s to copy from", p.Short(path))
	}
	from, err := p.RecordsAt(ctx, fromAt, "FROM", false)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := p.RecordsAt(ctx, toAt, "TO", true)
	if err != nil {
		return err
	}
	defer to.Close()
	runs, err := from.Importer().Runs(ctx, persistence.Query{})
	if err != nil {
		return from.Failed(err)
	}
	slices.Reverse(runs) // the oldest first: whoever stops it has a beginning
	results := make([]copyResult, 0, len(runs))
	for _, r := range runs {
		results = append(results, copyRun(ctx, from, to, r))
	}
	return a.tellCopied(o, from, to, results)
}

// copyRun copies one run, or finds that it is there.
func copyRun(ctx context.Context, from, to *project.Records, r persistence.Run) copyResult {
	c := copyResult{run: r}
	if project.Alive(r) {
		c.result = leftOut
		return c
	}
	if len(r.Damage) > 0 {
		c.result, c.err = notTaken, &persistence.DamageError{File: r.Log, Offset: -1, What: r.Damage[0]}
		return c
	}
	var err error
	c.digest, err = persistence.Copy(ctx, from.Importer(), to.Importer(), r)
	var held *persistence.HeldError
	var different *persistence.DifferentError
	switch {
	case err == nil:
		c.result = copied
	case errors.Is(err, fs.ErrExist):
		c.result = already
	case errors.As(err, &held):
		c.result = leftOut // it was resumed since it was listed
	case errors.As(err, &different):
		c.result, c.err = differs, err
	default:
		c.result, c.err = notTaken, err
	}
	return c
}

// tellCopied says what became of the runs.
func (a *app) tellCopied(o storeCopyOptions, from, to *project.Records, results []copyResult) error {
	var errs []error
	n, events, there, left := 0, 0, 0, 0
	for _, c := range results {
		switch c.result {
		case copied:
			n, events = n+1, events+c.digest.Events
		case already:
			there++
		case leftOut:
			left++
			ui.Say(a.Err, "loops: run %s goes on (%s) and was left out; stop it, or copy again later\n", c.run.ID, c.run.Owner)
		case differs:
			errs = append(errs, fmt.Errorf("%w; it was left as it is there", c.err))
		default:
			errs = append(errs, fmt.Errorf("run %s was not copied: %w", c.run.ID, c.err))
		}
	}
	if left > 0 {
		errs = append(errs, failure(engine.Conflict, "%s left out", wereRuns(left)))
	}
	if o.json {
		err := ui.WriteJSON(a.out, ui.List(results, func(c copyResult) any {
			m := value.NewMap("instance_id", string(c.run.ID), "loop", c.run.Loop, "result", c.result, "events", nil, "sha256", nil, "error", nil)
			if c.digest.Hash != "" {
				m.Set("events", int64(c.digest.Events))
				m.Set("sha256", c.digest.Hash)
			}
			if c.err != nil {
				m.Set("error", oneLine(c.err))
			}
			return m
		}))
		return errors.Join(joined(errs), err)
	}
	if len(results) == 0 {
		ui.Say(a.out, "There are no runs in %s.\n", from.Name)
		return nil
	}
	switch {
	case n > 0:
		ui.Say(a.out, "Copied %s with %s from %s to %s, and compared them there.\n", phrase.Count(n, "run"), phrase.Count(events, "event"), from.Name, to.Name)
	default:
		ui.Say(a.out, "Nothing was copied from %s to %s.\n", from.Name, to.Name)
	}
	if there > 0 {
		ui.Say(a.out, "%s there already, and the same.\n", wereRuns(there))
	}
	return joined(errs)
}

func wereRuns(n int) string {
	if n == 1 {
		return "1 run was"
	}
	return fmt.Sprintf("%d runs were", n)
}
